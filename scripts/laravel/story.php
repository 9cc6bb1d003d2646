<?php
// A session of a Laravel application; what it prints must be the same directly and through the proxy.

use App\Models\User;
use Illuminate\Database\QueryException;
use Illuminate\Support\Facades\Cache;
use Illuminate\Support\Facades\DB;
use Illuminate\Support\Facades\Schema;

require __DIR__ . '/vendor/autoload.php';
$app = require __DIR__ . '/bootstrap/app.php';
$app->make(Illuminate\Contracts\Console\Kernel::class)->bootstrap();
// Laravel's own shows the error, and ends well.
set_exception_handler(function (Throwable $e) { fwrite(STDERR, $e); exit(1); });
// Each of these holds a connection until it is purged.
config([
    'database.connections.other' => config('database.connections.mysql'),
    'database.connections.emulating' => ['options' => [PDO::ATTR_EMULATE_PREPARES => true]] + config('database.connections.mysql'),
    'database.connections.streaming' => ['options' => [PDO::MYSQL_ATTR_USE_BUFFERED_QUERY => false]] + config('database.connections.mysql'),
    'database.connections.persistent' => ['options' => [PDO::ATTR_PERSISTENT => true]] + config('database.connections.mysql'),
]);

$said = [];
$say = function (string $what, mixed $value) use (&$said) { $said[$what] = $value; };
$code = function (callable $work) {
    try { $work(); return 0; }
    catch (QueryException $e) { return $e->errorInfo[1]; }
};

Schema::dropIfExists('goods');
Schema::create('goods', function ($table) {
    $table->id();
    $table->string('name')->unique();
    $table->decimal('price', 10, 2);
    $table->json('data')->nullable();
    $table->binary('photo')->nullable();
    $table->foreignId('user_id')->nullable()->constrained()->cascadeOnDelete();
    $table->timestamps(3);
    $table->softDeletes();
});
class Good extends Illuminate\Database\Eloquent\Model
{
    use Illuminate\Database\Eloquent\SoftDeletes;
    protected $guarded = [];
    protected $casts = ['data' => 'array', 'price' => 'decimal:2'];
}

$user = User::factory()->create(['name' => 'Ada Lovelace – Ä 🦀']);
$good = Good::create(['name' => "it's", 'price' => 12.5, 'data' => ['a' => [1, null, 'ü']], 'photo' => random_bytes(1000), 'user_id' => $user->id]);
$say('created', Good::with([])->find($good->id)->only('name', 'price', 'data', 'user_id'));
$good->update(['price' => 13]);
$say('updated', $good->fresh()->price);
$say('nothing changed', Good::where('id', $good->id)->update(['price' => 13, 'updated_at' => $good->updated_at]));
$good->delete();
$say('soft deleted', [Good::count(), Good::withTrashed()->count(), $good->restore()]);
$say('duplicate', $code(fn () => Good::create(['name' => "it's", 'price' => 1])));
$say('upsert', Good::upsert([['name' => "it's", 'price' => 2], ['name' => 'new', 'price' => 3]], ['name'], ['price']));
$say('insert or ignore', DB::table('goods')->insertOrIgnore([['name' => 'new', 'price' => 9], ['name' => 'newer', 'price' => 9]]));
$say('first or create', [Good::firstOrCreate(['name' => 'new'], ['price' => 5])->price, Good::updateOrCreate(['name' => 'newest'], ['price' => 5])->wasRecentlyCreated]);
$say('json', Good::where('data->a[0]', 1)->pluck('name'));
$say('increment', [Good::where('name', 'new')->increment('price', 2), Good::where('name', 'new')->value('price')]);

try {
    DB::transaction(function () { Good::create(['name' => 'gone', 'price' => 1]); throw new RuntimeException('no'); });
} catch (RuntimeException) {}
$say('rolled back', Good::where('name', 'gone')->exists());
DB::transaction(function () use ($say) {
    Good::create(['name' => 'outer', 'price' => 1]);
    try { DB::transaction(function () { Good::create(['name' => 'inner', 'price' => 1]); throw new RuntimeException('no'); }); }
    catch (RuntimeException) {}
    $say('level', DB::transactionLevel());
});
$say('savepoint', Good::whereIn('name', ['outer', 'inner'])->pluck('name'));

DB::connection('other')->statement('SET SESSION innodb_lock_wait_timeout=1');
DB::transaction(function () use ($say, $code, $good) {
    $say('locked', Good::lockForUpdate()->find($good->id)->name);
    $say('waited', $code(fn () => DB::connection('other')->transaction(fn () => DB::connection('other')->table('goods')->where('id', $good->id)->lockForUpdate()->first())));
    $say('skipped', DB::connection('other')->table('goods')->where('id', $good->id)->lock('for update skip locked')->get()->count());
    $say('shared', DB::connection('other')->table('users')->where('id', 1)->sharedLock()->get()->count());
});
$attempts = 0;
$say('retried', DB::transaction(function () use (&$attempts) {
    if (++$attempts < 3) DB::statement("SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO=1213, MESSAGE_TEXT='Deadlock found when trying to get lock'");
    return $attempts;
}, 5));

foreach (array_chunk(range(1, 3000), 500) as $numbers) {
    Good::insert(array_map(fn ($n) => ['name' => "good $n", 'price' => $n / 100], $numbers));
}
$chunks = [];
Good::where('name', 'like', 'good %')->chunk(700, function ($goods) use (&$chunks) { $chunks[] = [$goods->count(), (float) $goods->sum('price')]; });
$say('chunks', $chunks);
Good::where('name', 'like', 'good %')->chunkById(1000, fn ($goods) => Good::whereKey($goods->modelKeys())->update(['price' => DB::raw('price + 1')]));
$say('by id', Good::where('name', 'like', 'good %')->sum('price'));
$say('lazy', Good::lazy(512)->count());
$say('cursor', Good::cursor()->sum(fn ($good) => $good->id % 7) >= 0 ? Good::cursor()->count() : null);
$streamed = 0;
foreach (DB::connection('streaming')->table('goods')->cursor() as $row) if (++$streamed === 100) break;
unset($row);
$say('streamed', [$streamed, DB::connection('streaming')->table('goods')->cursor()->count()]);
$say('emulated', DB::connection('emulating')->table('goods')->where('price', '>', 30)->count());
$say('page', Good::orderBy('id')->paginate(50, page: 3)->pluck('name')->take(2));

DB::statement('SET @mine = 5');
$say('variable', DB::selectOne('SELECT @mine AS v')->v);
DB::purge();
$say('variable of a new connection', DB::selectOne('SELECT @mine AS v')->v);
DB::connection('persistent')->statement('SET @mine = 6');
DB::purge('persistent');
$say('variable of a persistent one', DB::connection('persistent')->selectOne('SELECT @mine AS v')->v);
DB::statement('SELECT 1');
$say('mode', DB::selectOne('SELECT @@SESSION.sql_mode AS m, @@collation_connection AS c'));

$say('cache', [Cache::put('k', ['a' => 1], 60), Cache::get('k'), Cache::add('k', 2), Cache::increment('n'), Cache::forget('k')]);
$lock = Cache::lock('door', 10);
$say('lock', [$lock->get(), Cache::lock('door', 10)->get(), $lock->release()]);
dispatch(function () { DB::table('goods')->where('name', 'outer')->update(['price' => 99]); });
$say('queued', DB::table('jobs')->count());
$say('missing', $code(fn () => DB::table('nothing')->get()));
$say('tables', collect(Schema::getTables('laravel'))->pluck('name'));
$say('columns', collect(Schema::getColumns('goods'))->map(fn ($column) => $column['name'] . ' ' . $column['type']));
$say('indexes', collect(Schema::getIndexes('goods'))->pluck('name')->sort()->values());

// The foreign key would keep the migrations from being undone; the queued job wants a table.
Schema::drop('goods');
Schema::create('goods', function ($table) { $table->string('name'); $table->decimal('price', 10, 2); });

echo json_encode($said, JSON_PRETTY_PRINT | JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR), "\n";

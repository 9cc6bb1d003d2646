<?php

use Illuminate\Http\Request;
use Illuminate\Support\Facades\App;
use Illuminate\Support\Facades\Config;
use Illuminate\Support\Facades\Route;

Route::get('/', fn () => view('welcome'));
Route::get('/json', fn (Request $request) => ['query' => $request->query(), 'ajax' => $request->ajax(), 'ip' => $request->ip()]);
Route::get('/count', function (Request $request) {
    $request->session()->put('count', $count = $request->session()->get('count', 0) + 1);
    return "visit $count";
});
Route::get('/form', fn (Request $request) => response(
    '<p>' . e($request->session()->get('notice', '')) . '</p>'
    . '<ul>' . collect($request->session()->get('errors')?->all() ?? [])->map(fn ($text) => '<li>' . e($text))->implode('') . '</ul>'
    . '<input name=_token value=' . csrf_token() . '><input name=name value="' . e(old('name')) . '">',
));
Route::post('/form', function (Request $request) {
    $valid = $request->validate(['name' => 'required|min:2', 'age' => 'required|integer']);
    return redirect('/form')->with('notice', "Welcome, {$valid['name']}");
});
Route::post('/upload', function (Request $request) {
    $tell = fn ($file) => is_array($file) ? array_map($GLOBALS['tell'] ?? fn ($one) => [$one->getClientOriginalName(), $one->getSize(), sha1_file($one->getPathname())], $file)
        : [$file->getClientOriginalName(), $file->getSize(), sha1_file($file->getPathname())];
    return ['files' => array_map($tell, $request->allFiles()), 'fields' => $request->except(['_token', ...array_keys($request->allFiles())])];
});
Route::get('/stream', fn () => response()->stream(function () {
    for ($i = 0; $i < 5; $i++) {
        echo str_repeat((string) $i, 2000);
        flush();
    }
}, 200, ['Content-Type' => 'text/plain']));
Route::get('/cookie', fn (Request $request) => response()->json($request->cookie('choice'))->cookie('choice', 'a b', 5));
Route::get('/denied', fn () => abort(403, 'not you'));
Route::get('/broken', fn () => throw new RuntimeException('secret detail'));
Route::match(['put', 'patch', 'delete'], '/echo/{id}', fn (Request $request, string $id) => [$id, $request->method(), sha1($request->getContent())]);
Route::get('/where/{rest}', fn (Request $request, string $rest) => [$rest, $request->path(), $request->getHost(), url('/x'), $request->secure()]);
// What must not stay for the next visitor.
Route::get('/leave', function (Request $request) {
    App::setLocale('de');
    Config::set('app.name', 'Changed');
    $request->session()->put('user', 'ann');
    app()->instance('mine', $request->query('mine'));
    auth()->setUser(new Illuminate\Auth\GenericUser(['id' => 7]));
    return 'left';
});
Route::get('/left', fn (Request $request) => [
    App::getLocale(), $request->session()->get('user'), app()->bound('mine'), auth()->id(), $request->query(),
]);

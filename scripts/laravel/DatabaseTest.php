<?php

namespace Tests\Feature;

use App\Models\User;
use Illuminate\Foundation\Testing\RefreshDatabase;
use Illuminate\Support\Facades\DB;
use PHPUnit\Framework\Attributes\DataProvider;
use Tests\TestCase;

/** Each case runs in a transaction of its own, which the framework rolls back. */
class DatabaseTest extends TestCase
{
    use RefreshDatabase;

    #[DataProvider('cases')]
    public function test_every_case_finds_an_empty_table(int $case): void
    {
        $this->assertDatabaseCount('users', 0);
        User::factory()->count($case)->create();
        $this->assertDatabaseCount('users', $case);
        DB::transaction(fn () => User::query()->delete());
        $this->assertDatabaseEmpty('users');
        User::factory()->create();
    }

    public static function cases(): array
    {
        return array_map(fn (int $case) => [$case], range(1, 20));
    }

    public function test_it_runs_on_the_database_that_was_asked_for(): void
    {
        $this->assertSame('mysql', DB::getDriverName());
        $this->seed();
        $this->assertDatabaseHas('users', ['email' => 'test@example.com']);
    }
}

<?php

namespace App;

use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpFoundation\StreamedResponse;
use Symfony\Component\HttpKernel\Attribute\AsController;
use Symfony\Component\Routing\Attribute\Route;

#[AsController]
final class Pages
{
    /** Of this process: with workers it goes on from request to request. */
    private int $served = 0;

    #[Route('/', name: 'home')]
    public function home(Request $request): Response
    {
        $session = $request->getSession();
        $session->set('visits', $visits = $session->get('visits', 0) + 1);
        $this->served++;
        $pid = getmypid();
        return new Response(<<<HTML
            <!doctype html>
            <title>Symfony on Fairlead</title>
            <h1>Symfony on Fairlead</h1>
            <p>Your visit $visits; request $this->served of process $pid, which booted once.</p>
            <p><a href="/stream">A stream</a></p>
            HTML);
    }

    #[Route('/stream', name: 'stream')]
    public function stream(): StreamedResponse
    {
        return new StreamedResponse(static function (): void {
            for ($i = 1; $i <= 5; $i++) {
                echo "line $i\n";
                @ob_flush();
                flush();
                sleep(1);
            }
        }, headers: ['Content-Type' => 'text/plain']);
    }
}

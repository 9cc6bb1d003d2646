<?php

declare(strict_types=1);

namespace App;

use Symfony\Component\HttpFoundation\Cookie;
use Symfony\Component\HttpFoundation\File\UploadedFile;
use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\RedirectResponse;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpFoundation\StreamedResponse;
use Symfony\Component\HttpKernel\Exception\AccessDeniedHttpException;
use Symfony\Component\Routing\Generator\UrlGeneratorInterface;
use Symfony\Component\Security\Csrf\CsrfToken;
use Symfony\Component\Security\Csrf\CsrfTokenManagerInterface;
use Symfony\Component\Validator\Constraints as Assert;
use Symfony\Component\Validator\Validator\ValidatorInterface;

final class Pages
{
    public const ROUTES = [
        'home' => [['GET'], '/'],
        'json' => [['GET'], '/json'],
        'count' => [['GET'], '/count'],
        'form' => [['GET'], '/form'],
        'sent' => [['POST'], '/form'],
        'valid' => [['POST'], '/valid'],
        'upload' => [['POST'], '/upload'],
        'stream' => [['GET'], '/stream'],
        'cookie' => [['GET'], '/cookie'],
        'denied' => [['GET'], '/denied'],
        'broken' => [['GET'], '/broken'],
        'echo' => [['PUT', 'DELETE', 'PATCH'], '/echo/{id}'],
        'where' => [['GET'], '/where/{rest}'],
    ];

    public function home(): Response
    {
        return new Response('<h1>Symfony</h1>');
    }

    public function json(Request $request): Response
    {
        return new JsonResponse(['query' => $request->query->all(), 'ajax' => $request->isXmlHttpRequest()]);
    }

    public function count(Request $request): Response
    {
        $session = $request->getSession();
        $session->set('count', $count = $session->get('count', 0) + 1);
        return new Response("visit $count");
    }

    public function form(Request $request, CsrfTokenManagerInterface $tokens): Response
    {
        $flashes = implode(',', $request->getSession()->getFlashBag()->get('notice'));
        return new Response("<p>$flashes</p><input name=token value={$tokens->getToken('form')->getValue()}>");
    }

    public function sent(Request $request, CsrfTokenManagerInterface $tokens): Response
    {
        if (!$tokens->isTokenValid(new CsrfToken('form', $request->request->getString('token')))) {
            throw new AccessDeniedHttpException('expired');
        }
        $request->getSession()->getFlashBag()->add('notice', 'Thanks, ' . $request->request->getString('name'));
        return new RedirectResponse('/form', 303);
    }

    public function valid(Request $request, ValidatorInterface $validator): Response
    {
        $errors = $validator->validate($request->toArray(), new Assert\Collection([
            'email' => [new Assert\NotBlank(), new Assert\Email()],
            'age' => new Assert\Positive(),
        ]));
        $told = [];
        foreach ($errors as $error) {
            $told[$error->getPropertyPath()] = (string) $error->getMessage();
        }
        return new JsonResponse($told ?: ['ok' => true], $told ? 422 : 201);
    }

    public function upload(Request $request): Response
    {
        $tell = static fn (UploadedFile|array|null $file) => $file instanceof UploadedFile
            ? [$file->getClientOriginalName(), $file->getClientMimeType(), $file->getError(), $file->isValid() ? sha1_file($file->getPathname()) : null]
            : $file;
        $files = $request->files->all();
        array_walk_recursive($files, static function (mixed &$file) use ($tell): void {
            $file = $tell($file);
        });
        return new JsonResponse(['files' => $files, 'fields' => $request->request->all()]);
    }

    public function stream(): Response
    {
        return new StreamedResponse(static function (): void {
            for ($i = 0; $i < 5; $i++) {
                echo str_repeat((string) $i, 2000);
                flush();
            }
        }, 200, ['Content-Type' => 'text/plain']);
    }

    public function cookie(Request $request): Response
    {
        $response = new JsonResponse($request->cookies->all());
        $response->headers->setCookie(Cookie::create('choice', 'a b', 0, '/', null, false, true, false, 'lax'));
        $response->headers->clearCookie('old');
        return $response;
    }

    public function denied(): Response
    {
        throw new AccessDeniedHttpException('not you');
    }

    public function broken(): Response
    {
        throw new \RuntimeException('secret detail');
    }

    public function echo(Request $request, string $id): Response
    {
        return new JsonResponse([$id, $request->getMethod(), sha1($request->getContent()), $request->headers->get('content-type')]);
    }

    public function where(Request $request, string $rest, UrlGeneratorInterface $urls): Response
    {
        return new JsonResponse([
            $rest, $request->getPathInfo(), $request->getBaseUrl(), $request->getHost(), $request->getClientIp(), $request->isSecure(),
            $urls->generate('where', ['rest' => 'ü x']),
        ]);
    }
}

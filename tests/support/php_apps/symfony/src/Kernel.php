<?php

declare(strict_types=1);

namespace App;

use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpKernel\Kernel as BaseKernel;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

final class Kernel extends BaseKernel
{
    use MicroKernelTrait;

    public function registerBundles(): iterable
    {
        yield new FrameworkBundle();
    }

    protected function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', [
            'secret' => 'for tests only',
            'http_method_override' => false,
            'handle_all_throwables' => true,
            'php_errors' => ['log' => true],
            'session' => ['handler_id' => null, 'cookie_secure' => 'auto', 'cookie_samesite' => 'lax', 'storage_factory_id' => 'session.storage.factory.native'],
            'csrf_protection' => true,
            'validation' => true,
            'router' => ['utf8' => true],
        ]);
        $container->services()->set(Pages::class)->autowire()->tag('controller.service_arguments')->public();
    }

    protected function configureRoutes(RoutingConfigurator $routes): void
    {
        foreach (Pages::ROUTES as $name => [$methods, $path]) {
            $routes->add($name, $path)->controller([Pages::class, $name])->methods($methods);
        }
    }

    /** Where the PHP user may write. */
    private function var(): string
    {
        return $_SERVER['APP_VAR'] ?? sys_get_temp_dir() . '/fairlead-symfony-var';
    }

    public function getCacheDir(): string
    {
        return $this->var() . "/cache/$this->environment";
    }

    public function getLogDir(): string
    {
        return $this->var() . '/log';
    }
}

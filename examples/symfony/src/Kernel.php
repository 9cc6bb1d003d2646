<?php

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
        $container->extension('framework', ['secret' => '%env(APP_SECRET)%', 'session' => true, 'secrets' => false]);
        $container->services()->set(Pages::class)->autoconfigure()->autowire();
    }

    protected function configureRoutes(RoutingConfigurator $routes): void
    {
        $routes->import(Pages::class, 'attribute');
    }

    public function getCacheDir(): string
    {
        return $this->getProjectDir() . "/var/cache/$this->environment";
    }
}

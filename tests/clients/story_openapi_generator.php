<?php
// The README's story by the client of openapi-generator for PHP: `php story.php BASE_URL API_KEY` prints what it saw.
// Guzzle is loaded as Debian packages it; with Composer, `vendor/autoload.php` takes the place of both lines.
require 'GuzzleHttp/autoload.php';
spl_autoload_register(function ($name) {
    $file = __DIR__ . '/lib/' . str_replace(['OpenAPI\\Client\\', '\\'], ['', '/'], $name) . '.php';
    is_file($file) && require $file;
});

use OpenAPI\Client\Api;
use OpenAPI\Client\Model;

$configuration = (new OpenAPI\Client\Configuration())->setHost($argv[1])->setAccessToken($argv[2]);
$http = new GuzzleHttp\Client();
$content = new Api\ContentApi($http, $configuration);
$policies = new Api\PoliciesApi($http, $configuration);
$access = new Api\AccessApi($http, $configuration);

$item = $content->createContent(new Model\ContentRequest([
    'title' => 'Markets',
    'external_id' => 'my-first',
    'metadata' => ['desk' => 'europe'],
]));
$allow = new Model\AllowRule([
    'action' => 'allow',
    'priority' => 1,
    'conditions' => new Model\Conditions(['license_type' => ['commercial'], 'has_valid_license' => true]),
    'permissions' => ['full_access'],
]);
$deny = new Model\DenyRule([
    'action' => 'deny',
    'priority' => 99,
    'conditions' => new Model\Conditions(['default' => true]),
    'message' => 'Buy a licence.',
]);
$policy = $policies->createPolicy(new Model\PolicyRequest([
    'name' => 'Licensed only',
    'rules' => [$allow, $deny],
    'metadata' => ['desk' => 'europe', 'seats' => 25, 'trial' => true],
]));

// What was read can be written back.
$read = $policies->getPolicy($policy->getId());
$change = new Model\PatchedPolicyRequest([
    'name' => 'Licensed',
    'rules' => $read->getRules(),
    'metadata' => $read->getMetadata(),
]);
$again = $policies->updatePolicy($policy->getId(), $change);
$content->updateContent($item->getId(), new Model\PatchedContentRequest(['policy_id' => $policy->getId()]));

$ask = fn ($requester) => $access->checkAccess(new Model\Check([
    'external_id' => 'my-first',
    'requester' => $requester,
    'permission' => 'commercial_use',
    'context' => new Model\Context(['ip' => '203.0.113.9']),
]));
$denied = $ask('org_acme');
$allowed = $ask(new Model\Requester(['id' => 'org_acme', 'license_type' => 'commercial', 'has_valid_license' => true]));
$price = new Model\MoneyRequest(['amount' => 0.05, 'currency' => 'USD']);
(new Api\LicensesApi($http, $configuration))->createLicense(new Model\LicenseRequest([
    'requester_id' => 'org_globex',
    'license_type' => 'commercial',
    'price_per_access' => $price,
]));
$charged = $ask('org_globex');
$report = (new Api\AnalyticsApi($http, $configuration))->getRevenueReport(period: '7d');

$found = $content->listContent(type_in: ['article', 'report'], created_gte: '2026-01-01', limit: 20);
$endpoint = new Model\WebhookEndpointRequest(['url' => 'https://example.com/hook', 'events' => ['license.*']]);
$hook = (new Api\WebhookEndpointsApi($http, $configuration))->createWebhook($endpoint);
try {
    $content->getContent('cnt_' . str_repeat('0', 26));
} catch (OpenAPI\Client\ApiException $refused) {
    $missing = json_decode($refused->getResponseBody())->error->code;
}

assert($found->getData()[0]->getMetadata()->desk === 'europe');
assert((array) $again->getMetadata() == ['desk' => 'europe', 'seats' => 25, 'trial' => true]);
echo json_encode([
    'rules' => $again->getRules(), // as they were read and written back
    'denied' => [$denied->getAllowed(), $denied->getReason()],
    'allowed' => [$allowed->getAllowed(), $allowed->getPermissions()],
    'charge' => $charged->getCharge(),
    'total' => $report->getSummary()->getTotal(),
    'found' => array_map(fn ($one) => $one->getTitle(), $found->getData()),
    'hook' => $hook->getEvents(),
    'missing' => $missing,
]), "\n";

<?php
/** Have own rules in robots.txt with ?own, added after those of other plugins, as plugins for search engines do. */

add_filter('robots_txt', fn ($text) => isset($_GET['own']) ? <<<TEXT
$text
User-agent: *
Disallow:
User-agent: CCBot # has rules of its own
Disallow: /media/

user-agent: *
Disallow: /internal/
Allow: /internal/press/
Allow: /premium/sample/

TEXT : $text, 20);

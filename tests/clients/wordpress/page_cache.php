<?php
/** Say in a header whether plugins that cache pages would store the answer: they do so unless DONOTCACHEPAGE is defined. */

ob_start(function ($body) {
    header('X-Page-Cache: ' . (defined('DONOTCACHEPAGE') ? 'bypass' : 'store'));
    return $body;
});

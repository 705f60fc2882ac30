<?php
/** Let the plugin's clock be ?later seconds ahead. */

namespace ContentAccessLicensing;

function time(): int
{
    return \time() + (int) ($_GET['later'] ?? 0);
}

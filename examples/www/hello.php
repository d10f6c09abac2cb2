<?php
// Says hello, and shows what the server told PHP about this request.
$rows = ['SERVER_SOFTWARE', 'SERVER_PROTOCOL', 'REQUEST_METHOD', 'REQUEST_URI', 'SCRIPT_NAME', 'REMOTE_ADDR'];
?>
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Hello from PHP</title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<main>
<h1>Hello from PHP <?= PHP_VERSION ?></h1>
<p>Answered by worker <?= getmypid() ?>.</p>
<table>
<?php foreach ($rows as $name): ?>
<tr><th><?= $name ?></th><td><?= htmlspecialchars((string) ($_SERVER[$name] ?? '')) ?></td></tr>
<?php endforeach ?>
</table>
<p><a href="/">Back</a></p>
</main>
</body>
</html>

<?php
// A small guestbook: sign in with a name, write, add a picture. Shows sessions, forms, uploads and a database at work.
declare(strict_types=1);
require __DIR__ . '/book.php';

session_save_path(book_dir());
session_name('guestbook');
session_start(['cookie_httponly' => true, 'cookie_samesite' => 'Lax', 'use_strict_mode' => true]);
$_SESSION['token'] ??= bin2hex(random_bytes(16));
$name = $_SESSION['name'] ?? '';
$db = book_open();

/** Escapes text for HTML. */
function h(string $text): string
{
    return htmlspecialchars($text, ENT_QUOTES | ENT_SUBSTITUTE, 'UTF-8');
}

/** What a form asks for; returns the message to show next. */
function act(PDO $db, string $name): string
{
    if (!hash_equals($_SESSION['token'], (string) ($_POST['token'] ?? ''))) {
        return 'That form was too old. Please try again.';
    }
    switch ($_POST['do'] ?? '') {
        case 'sign-in':
            $wish = trim((string) ($_POST['name'] ?? ''));
            if ($wish === '' || strlen($wish) > 60) {
                return 'Please give a name of at most 60 bytes.';
            }
            session_regenerate_id(true);
            $_SESSION['name'] = $wish;
            return "Welcome, $wish.";
        case 'sign-out':
            unset($_SESSION['name']);
            return 'Good bye.';
        case 'write':
            if ($name === '') {
                return 'Please sign in first.';
            }
            $wrong = book_add($db, $name, trim((string) ($_POST['text'] ?? '')), $_FILES['picture'] ?? null);
            return $wrong !== '' ? $wrong : 'Thank you. Your entry is in the book.';
    }
    return 'That form is not known here.';
}

if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    $_SESSION['flash'] = act($db, $name);
    header('Location: ' . $_SERVER['SCRIPT_NAME'], true, 303);
    exit;
}

$flash = $_SESSION['flash'] ?? '';
unset($_SESSION['flash']);
$token = $_SESSION['token'];
session_write_close();
$entries = $db->query('SELECT * FROM entry ORDER BY id DESC LIMIT 50')->fetchAll();
header('Content-Type: text/html; charset=utf-8');
?>
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Guestbook</title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<main>
<h1>Guestbook</h1>
<?php if ($flash !== ''): ?>
<p class="flash"><?= h($flash) ?></p>
<?php endif ?>
<?php if ($name === ''): ?>
<form method="post">
<input type="hidden" name="token" value="<?= h($token) ?>">
<label for="name">Your name</label>
<input type="text" id="name" name="name" maxlength="60" required>
<button name="do" value="sign-in">Sign in</button>
</form>
<?php else: ?>
<form method="post" enctype="multipart/form-data">
<input type="hidden" name="token" value="<?= h($token) ?>">
<p>You are <strong><?= h($name) ?></strong>.</p>
<label for="text">Your entry</label>
<textarea id="text" name="text" rows="4" maxlength="2000"></textarea>
<label for="picture">A picture, if you like</label>
<input type="file" id="picture" name="picture" accept="image/*">
<p><button name="do" value="write">Write</button> <button name="do" value="sign-out">Sign out</button></p>
</form>
<?php endif ?>
<?php foreach ($entries as $entry): ?>
<article>
<p class="quiet"><?= h($entry['name']) ?>, <?= gmdate('j F Y, H:i', (int) $entry['written_at']) ?> UTC</p>
<p><?= h($entry['text']) ?></p>
<?php if ($entry['picture_type']): ?>
<img src="picture.php?id=<?= (int) $entry['id'] ?>" alt="">
<?php endif ?>
</article>
<?php endforeach ?>
<footer><a href="/">Back</a></footer>
</main>
</body>
</html>

<?php
// Sends the picture of one entry: picture.php?id=N.
declare(strict_types=1);
require __DIR__ . '/book.php';

$id = (int) ($_GET['id'] ?? 0);
$find = book_open()->prepare('SELECT picture_type FROM entry WHERE id = ?');
$find->execute([$id]);
$type = $find->fetchColumn();
if (!$type || !is_file(book_picture($id))) {
    http_response_code(404);
    exit('There is no such picture.');
}
header("Content-Type: $type");
header('X-Content-Type-Options: nosniff');
header('Content-Length: ' . filesize(book_picture($id)));
readfile(book_picture($id));

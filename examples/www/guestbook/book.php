<?php
// The guestbook's storage: a SQLite file and a folder of pictures, outside the served tree.
declare(strict_types=1);

const TEXT_MAX = 2000;
const PICTURE_BYTES_MAX = 2_000_000;
const PICTURE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/** The folder that holds the data: GUESTBOOK_DATA, or build/examples-data of the source tree. */
function book_dir(): string
{
    return getenv('GUESTBOOK_DATA') ?: dirname(__DIR__, 3) . '/build/examples-data';
}

function book_open(): PDO
{
    $db = new PDO('sqlite:' . book_dir() . '/guestbook.sqlite', null, null, [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
        PDO::ATTR_TIMEOUT => 10,
    ]);
    $db->exec('CREATE TABLE IF NOT EXISTS entry (id INTEGER PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL,
        picture_type TEXT, written_at INTEGER NOT NULL)');
    return $db;
}

/** Adds an entry; the uploaded file (a row of $_FILES) goes beside the database. Returns what is wrong, or ''. */
function book_add(PDO $db, string $name, string $text, ?array $file): string
{
    if ($text === '' || strlen($text) > TEXT_MAX) {
        return 'Please write something, at most ' . TEXT_MAX . ' bytes.';
    }
    $type = null;
    if ($file !== null && $file['error'] !== UPLOAD_ERR_NO_FILE) {
        if ($file['error'] !== UPLOAD_ERR_OK || $file['size'] > PICTURE_BYTES_MAX) {
            return 'The picture is too large.';
        }
        $type = (new finfo(FILEINFO_MIME_TYPE))->file($file['tmp_name']);
        if (!in_array($type, PICTURE_TYPES, true)) {
            return 'That file is not a picture that we know.';
        }
    }
    $db->beginTransaction();
    $db->prepare('INSERT INTO entry (name, text, picture_type, written_at) VALUES (?, ?, ?, ?)')
        ->execute([$name, $text, $type, time()]);
    if ($type !== null && !move_uploaded_file($file['tmp_name'], book_picture((int) $db->lastInsertId()))) {
        $db->rollBack();
        return 'The picture could not be kept.';
    }
    $db->commit();
    return '';
}

/** The file that holds the picture of an entry. */
function book_picture(int $id): string
{
    return book_dir() . "/picture-$id";
}

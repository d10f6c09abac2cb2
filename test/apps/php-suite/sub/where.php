<?php
echo getcwd(), "\n";

-- Run once, by the image of PostgreSQL on an empty volume: a database for each that keeps one.
CREATE DATABASE accounts;
CREATE DATABASE quota;
CREATE DATABASE media;
CREATE DATABASE publishing;
CREATE DATABASE ai;
CREATE DATABASE gateway;
CREATE DATABASE webhooks;

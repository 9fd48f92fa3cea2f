-- Run once, when the data volume is made: the ledger's own user and database beside Temporal's.
CREATE USER ebrc PASSWORD 'ebrc';
CREATE DATABASE ebrc OWNER ebrc;

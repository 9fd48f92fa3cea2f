-- Run once, when the data volume is made: the users of the ledger and of Temporal, each with what is its own.
CREATE ROLE ebrc_migrate NOLOGIN;
CREATE ROLE ebrc_run NOLOGIN;
CREATE ROLE ebrc_serve NOLOGIN;
CREATE ROLE ebrc_read NOLOGIN;
CREATE USER ebrc PASSWORD 'ebrc' IN ROLE ebrc_migrate;
CREATE USER ebrc_worker PASSWORD 'ebrc_worker' IN ROLE ebrc_run;
CREATE USER ebrc_http PASSWORD 'ebrc_http' IN ROLE ebrc_serve;
CREATE USER ebrc_reader PASSWORD 'ebrc_reader' IN ROLE ebrc_read;
CREATE DATABASE ebrc OWNER ebrc;
GRANT CONNECT ON DATABASE ebrc TO ebrc_worker, ebrc_http, ebrc_reader;
-- It makes its two databases itself.
CREATE USER temporal PASSWORD 'temporal' CREATEDB;

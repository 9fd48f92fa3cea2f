'use strict';
require('./typescript.cjs');
require('./worker-process.ts');

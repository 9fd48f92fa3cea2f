'use strict';
require('../../scripts/typescript.cjs');
require('./worker-process.ts');

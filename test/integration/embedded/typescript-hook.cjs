'use strict';
/** Lets a plain Node process load the sources, compiled as the tests compile them. */
const fs = require('node:fs');
const transform = require('../../setup/jest-transform.js');

require.extensions['.ts'] = (module, file) => {
  module._compile(transform.process(fs.readFileSync(file, 'utf8'), file).code, file);
};

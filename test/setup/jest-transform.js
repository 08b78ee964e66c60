'use strict';
/**
 * TypeScript always goes through swc. JavaScript goes through swc only where Node itself would read it as an ES module
 * (`.mjs`, or the nearest package.json says "type": "module"): Jest on Node 20 cannot require() an ES module, and NestJS
 * and several libraries are published as ES modules only. All other files are left unchanged.
 */
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const swc = require('@swc/core');

const ownSource = fs.readFileSync(__filename);
const typeOfFolder = new Map();

function packageType(folder) {
  for (let current = folder; ; current = path.dirname(current)) {
    const manifest = path.join(current, 'package.json');
    if (fs.existsSync(manifest)) return JSON.parse(fs.readFileSync(manifest, 'utf8')).type ?? 'commonjs';
    if (path.dirname(current) === current || path.basename(current) === 'node_modules') return 'commonjs';
  }
}

function isEsModule(file) {
  if (file.endsWith('.mjs')) return true;
  if (file.endsWith('.cjs')) return false;
  const folder = path.dirname(file);
  if (!typeOfFolder.has(folder)) typeOfFolder.set(folder, packageType(folder));
  return typeOfFolder.get(folder) === 'module';
}

/** Jest on Node 20 cannot import() either: of a CommonJS file that does so it becomes a require(). */
function importsLate(file, source) {
  return file.includes('/@opentelemetry/') && /\bimport\(/.test(source);
}

const typescript = {
  parser: { syntax: 'typescript', decorators: true },
  transform: { legacyDecorator: true, decoratorMetadata: true },
  target: 'es2023',
  keepClassNames: true,
};
const javascript = { parser: { syntax: 'ecmascript' }, target: 'es2023', keepClassNames: true };

module.exports = {
  canInstrument: false,
  getCacheKey(source, file, options) {
    const hash = crypto.createHash('sha1');
    for (const part of [ownSource, swc.version, process.version, file, source, String(options.instrument)]) {
      hash.update(part);
    }
    return hash.digest('hex');
  },
  process(source, file) {
    const isTypescript = /\.[cm]?ts$/.test(file);
    if (!isTypescript && !isEsModule(file) && !importsLate(file, source)) return { code: source };
    const result = swc.transformSync(source, {
      filename: file,
      swcrc: false,
      configFile: false,
      isModule: true,
      jsc: isTypescript ? typescript : javascript,
      module: { type: 'commonjs' },
      sourceMaps: isTypescript ? 'inline' : false,
    });
    return { code: result.code };
  },
};

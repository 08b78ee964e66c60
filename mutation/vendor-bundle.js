'use strict';
/**
 * For each mutant Jest loads a test file with a module registry of its own, and loading Nest, TypeORM and the rest (some
 * 3,500 files) takes 1.9 s of CPU. Bundled into one file they load in a fraction of that. The bundle is made once for a lock file and
 * kept in node_modules/.cache; each package name maps to a file of one line, so that all imports share one instance.
 */
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

const root = path.join(__dirname, '..');

/** What `src` and `test` import by these names; all else is loaded as usual. */
const BUNDLED = [
  '@nestjs/common',
  '@nestjs/common/constants',
  '@nestjs/common/enums/route-paramtypes.enum',
  '@nestjs/core',
  '@nestjs/platform-express',
  '@nestjs/schedule',
  '@nestjs/swagger',
  '@nestjs/terminus',
  '@nestjs/testing',
  '@nestjs/throttler',
  '@nestjs/typeorm',
  'class-transformer',
  'class-validator',
  'commander',
  'express',
  'fast-check',
  'html-to-text',
  'htmlparser2',
  'ipaddr.js',
  'lru-cache',
  'path-to-regexp',
  'pg',
  'postal-mime',
  'prom-client',
  'reflect-metadata',
  'rxjs',
  'rxjs/operators',
  'smtp-server',
  'tldts',
  'typeorm',
  'uuid',
];

/** Peers and drivers that are not installed. */
const OPTIONAL = ['pg-native', '@fastify/static', '@nestjs/microservices', '@nestjs/websockets'];

/** @returns Jest's `moduleNameMapper` for the bundled packages. */
function vendorModules() {
  const folder = bundled();
  return Object.fromEntries(
    BUNDLED.map((name) => [`^${name.replaceAll('.', '\\.')}$`, path.join(folder, shimOf(name))]),
  );
}

function shimOf(name) {
  return `${name.replaceAll('/', '+')}.js`;
}

function bundled() {
  const hash = crypto.createHash('sha1');
  for (const file of [path.join(root, 'package-lock.json'), __filename]) hash.update(fs.readFileSync(file));
  const folder = path.join(root, 'node_modules/.cache/vendor', hash.update(process.version).digest('hex').slice(0, 12));
  if (!fs.existsSync(folder)) make(folder);
  return folder;
}

/** Written aside and renamed, because several runs may start at once. */
function make(folder) {
  const aside = `${folder}.${process.pid}`;
  fs.mkdirSync(aside, { recursive: true });
  const loads = BUNDLED.map((name) => `${JSON.stringify(name)}: () => require(${JSON.stringify(name)})`);
  const base = JSON.stringify(pathToFileURL(path.join(root, 'node_modules/vendor.js')).href);
  require('esbuild').buildSync({
    stdin: {
      contents: `const loads = {${loads.join(',\n')}};\nmodule.exports = (name) => loads[name]();`,
      resolveDir: root,
    },
    outfile: path.join(aside, 'vendor.js'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    keepNames: true,
    define: { 'import.meta.url': base },
    external: OPTIONAL,
    logLevel: 'error',
  });
  for (const name of BUNDLED) {
    fs.writeFileSync(
      path.join(aside, shimOf(name)),
      `module.exports = require('./vendor.js')(${JSON.stringify(name)});\n`,
    );
  }
  try {
    fs.renameSync(aside, folder);
  } catch {
    fs.rmSync(aside, { recursive: true, force: true });
  }
}

module.exports = { vendorModules };

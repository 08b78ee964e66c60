// Makes the browser app: `console/src` into `dist/console`, after the compiler has made the rest of `dist`.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** A script and everything that it imports: the page requests them together, not one after the other as it reads each. */
function scriptsFrom(file, outputs, found = new Set()) {
  if (found.has(file)) return found;
  found.add(file);
  for (const { path: imported, kind } of outputs[file].imports) {
    if (kind === 'import-statement') scriptsFrom(imported, outputs, found);
  }
  return found;
}

/** The files that the page names; the rest is found from there. */
function writePage(root, folder, { outputs }) {
  const nameOf = (wanted) => {
    const found = Object.entries(outputs).find(([file, output]) => wanted(file, output))?.[0];
    return path.basename(found ?? '');
  };
  const names = {
    script: nameOf((file, { entryPoint }) => entryPoint === 'console/src/main.tsx' && file.endsWith('.js')),
    style: nameOf((file) => file.endsWith('.css')),
    icon: nameOf((file) => file.endsWith('.svg')),
  };
  const fileOf = (source) => Object.keys(outputs).find((file) => outputs[file].entryPoint === source);
  const main = fileOf('console/src/main.tsx');
  const first = fileOf('console/src/pages/overview/overview.tsx');
  // Includes the first page after signing in: the browser would request it only after the other scripts have run.
  names.preloads = [...scriptsFrom(first, outputs, scriptsFrom(main, outputs))]
    .filter((file) => file !== main)
    .map((file) => `<link rel="modulepreload" href="/console/assets/${path.basename(file)}" />`)
    .join('\n    ');
  const template = readFileSync(path.join(root, 'console/index.html'), 'utf8');
  const page = template.replaceAll(/\{\{(\w+)\}\}/g, (_all, name) => names[name]);
  writeFileSync(path.join(folder, 'index.html'), page);
}

/** The files of the build before, which nothing names any more. */
function removeOthers(folder, { outputs }) {
  const made = new Set(Object.keys(outputs).map((file) => path.basename(file)));
  const assets = path.join(folder, 'assets');
  for (const name of readdirSync(assets)) if (!made.has(name)) rmSync(path.join(assets, name));
}

function optionsOf(root, isDevelopment) {
  const folder = path.join(root, 'dist/console');
  const finish = {
    name: 'page',
    setup: ({ onEnd }) =>
      onEnd(({ metafile, errors }) => {
        if (errors.length > 0 || !metafile) return;
        removeOthers(folder, metafile);
        writePage(root, folder, metafile);
      }),
  };
  return {
    absWorkingDir: root,
    entryPoints: ['console/src/main.tsx', 'console/icon.svg'],
    outdir: 'dist/console/assets',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    minify: !isDevelopment,
    metafile: true,
    legalComments: 'linked',
    // Wouter's substitute for what React has since its release 18.
    alias: { 'use-sync-external-store/shim/index.js': 'react' },
    loader: { '.svg': 'copy' },
    define: { 'process.env.NODE_ENV': JSON.stringify(isDevelopment ? 'development' : 'production') },
    logLevel: 'warning',
    plugins: [finish],
  };
}

/** @param root the project's folder */
export async function buildConsole(root) {
  // Not installed in a production image, which has no sources either.
  const { build } = await import('esbuild');
  await build(optionsOf(root, false));
}

/** Builds it at every change, until the process ends. The page checks itself for a newer build. */
export async function watchConsole(root) {
  const { context } = await import('esbuild');
  await (await context(optionsOf(root, true))).watch();
}

if (process.argv[1] === import.meta.filename) await buildConsole(path.resolve(import.meta.dirname, '../..'));

import type { OpenAPIObject } from '@nestjs/swagger';
import ts from 'typescript';

/** Its declarations for CommonJS name the default alone. */
const generator = jest.requireActual<{
  default(document: OpenAPIObject): Promise<ts.Node[]>;
  astToString(nodes: ts.Node[]): string;
}>('openapi-typescript');

/** The types that a common generator makes of the document. */
export async function generateTypes(document: OpenAPIObject): Promise<string> {
  return generator.astToString(await generator.default(structuredClone(document)));
}

const OPTIONS: ts.CompilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ['lib.es2022.d.ts'],
  types: [],
  skipLibCheck: true,
};

/**
 * Compiles files that import types from './api', in the strictest mode.
 * @returns what the compiler says of each file that it refuses
 */
export function compileErrors(api: string, clients: Record<string, string>): Record<string, string[]> {
  const files = new Map([
    ['/api.ts', api],
    ...Object.entries(clients).map(([name, text]) => [`/${name}`, text] as const),
  ]);
  const host = ts.createCompilerHost(OPTIONS);
  const { getSourceFile, fileExists, readFile } = host;
  host.getSourceFile = (name, languageVersion) => {
    const text = files.get(name);
    return text === undefined ? getSourceFile(name, languageVersion) : ts.createSourceFile(name, text, languageVersion);
  };
  host.fileExists = (name) => files.has(name) || fileExists(name);
  host.readFile = (name) => files.get(name) ?? readFile(name);
  const program = ts.createProgram([...files.keys()], OPTIONS, host);
  const errors: Record<string, string[]> = {};
  for (const { file, messageText } of ts.getPreEmitDiagnostics(program)) {
    (errors[file?.fileName.slice(1) ?? ''] ??= []).push(ts.flattenDiagnosticMessageText(messageText, ' '));
  }
  return errors;
}

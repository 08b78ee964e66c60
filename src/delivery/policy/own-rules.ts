import { readFileSync } from 'node:fs';
import { RE2JS } from 're2js';
import { ConfigurationError } from '../../config/load-config';
import type { ReplyRule } from './reply-rule';
import { compileOwnRules } from './rule-file';

/** Read from an operator's file. @throws ConfigurationError that names the file, and the rule that is wrong */
export function readOwnRules(path: string): ReplyRule[] {
  try {
    return compileOwnRules(JSON.parse(readFileSync(path, 'utf8')), compileLinear);
  } catch (error) {
    throw new ConfigurationError([`CLASSIFICATION_RULES ${path}: ${(error as Error).message}`]);
  }
}

/** RE2's syntax: it takes linear time whatever the pattern and the text; look-around and back-references are refused. */
function compileLinear(pattern: string): (text: string) => boolean {
  const compiled = RE2JS.compile(pattern, RE2JS.CASE_INSENSITIVE);
  return (text) => compiled.matcher(text).find();
}

/** A media type with its parameters (RFC 2045 section 5.1), names and type in lower case. */
export interface ContentType {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

const TYPE = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}/;
const PARAMETER = /;\s{0,50}([\w-]{1,50})\s{0,10}=\s{0,10}(?:"((?:[^"\\]|\\.){0,300})"|([^\s;"]{1,300}))/g;
const PLAIN: ContentType = { type: 'text/plain', parameters: new Map() };

/** Reads a Content-Type field; a missing or unreadable one means plain text (RFC 2045 section 5.2). */
export function readContentType(field = ''): ContentType {
  const type = TYPE.exec(field)?.[0];
  return type === undefined ? PLAIN : { type: type.toLowerCase(), parameters: parametersOf(field) };
}

/** The first value of each name counts. */
function parametersOf(field: string): ReadonlyMap<string, string> {
  const found = [...field.matchAll(PARAMETER)].map(([, name = '', quoted, bare = '']): [string, string] => [
    name.toLowerCase(),
    quoted?.replace(/\\(.)/g, '$1') ?? bare,
  ]);
  return new Map(found.reverse());
}

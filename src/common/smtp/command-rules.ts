import type { SMTPServer } from 'smtp-server';
import { readSenderPath } from './sender-path';

export type Connection = SMTPServer['connections'] extends Set<infer Known> ? Known : never;

/** Commands that the library reads otherwise than the RFCs, or the clients that there are. */
export function correctCommands(connection: Connection): void {
  takeAnySender(connection);
  refuseUnknownParameters(connection);
  refuseArgumentsOfData(connection);
}

/** The library refuses senders that RFC 5321 allows, and others that exist. */
function takeAnySender(connection: Connection): void {
  const parse = connection._parseAddressCommand.bind(connection);
  connection._parseAddressCommand = (name, command) => {
    const known = parse(name, command);
    const path = known === false && name === 'mail from' ? readSenderPath(String(command)) : undefined;
    const empty = path ? parse(name, `MAIL FROM:<>${path.parameters}`) : known;
    return path && empty ? { ...empty, address: path.address } : empty;
  };
}

/** Of the extensions that are offered, and of DSN (RFC 3461), which some clients ask for anyway; AUTH: RFC 4954 section 5. */
const PARAMETERS: Readonly<Record<'MAIL' | 'RCPT', ReadonlySet<string>>> = {
  MAIL: new Set(['SIZE', 'BODY', 'SMTPUTF8', 'AUTH', 'RET', 'ENVID']),
  RCPT: new Set(['NOTIFY', 'ORCPT']),
};

/** RFC 5321 section 4.1.1.11. The library ignores them, so that a client would take what it asked for as granted. */
function refuseUnknownParameters(connection: Connection): void {
  const reject = connection._rejectInvalidParams.bind(connection);
  connection._rejectInvalidParams = (parsed, keys, done) => {
    const known = keys.includes('SIZE') ? PARAMETERS.MAIL : PARAMETERS.RCPT;
    if (Object.keys(parsed.args || {}).every((name) => known.has(name))) return reject(parsed, keys, done);
    connection.send(555, '5.5.4 A parameter is unknown');
    done();
    return true;
  };
}

/** RFC 5321 section 4.3.2. A client that sends its message as an argument must not get a 354. */
function refuseArgumentsOfData(connection: Connection): void {
  const handle = connection.handler_DATA.bind(connection);
  connection.handler_DATA = (command, done) => {
    if (/^data\s*$/i.test(command.toString())) return handle(command, done);
    connection.send(501, '5.5.4 DATA takes no argument');
    done();
  };
}

import fc from 'fast-check';
import { SMTPStream } from 'smtp-server/lib/smtp-stream.js';
import { readInBulk } from './bulk-smtp-server';

interface Read {
  readonly content: string;
  readonly commands: readonly string[];
}

/** What a parser makes of DATA that comes in these pieces, and which commands it reads behind it. */
async function read(parser: SMTPStream, pieces: readonly string[]): Promise<Read> {
  const commands: string[] = [];
  let content = '';
  parser.oncommand = (command, next) => {
    commands.push(command.toString());
    next?.();
  };
  const stream = parser.startDataMode();
  stream.on('data', (chunk: Buffer) => (content += chunk.toString('latin1')));
  stream.on('end', () => parser.continue());
  for (const piece of pieces) await new Promise((resolve) => parser.write(Buffer.from(piece, 'latin1'), resolve));
  await new Promise((resolve) => setImmediate(resolve));
  return { content, commands };
}

describe('DATA that is read in bulk', () => {
  it('is what the library reads, wherever it is cut', async () => {
    const unit = fc.constantFrom(
      '.',
      '.',
      '..',
      '\r\n',
      '\r\n',
      '\r\n.',
      '\r\n..',
      '\n',
      '\r',
      'a',
      'bcd',
      '\r\n.\r',
      '\n.\r\n',
    );
    const pieces = fc.array(
      fc.array(unit, { minLength: 1, maxLength: 5 }).map((units) => units.join('')),
      { maxLength: 6 },
    );
    await fc.assert(
      fc.asyncProperty(pieces, async (given) => {
        const all = [...given, 'x\r\n.', '\r\nNOOP\r\n'];
        expect(await read(readInBulk(new SMTPStream()), all)).toEqual(await read(new SMTPStream(), all));
      }),
      { numRuns: 1_500 },
    );
  });

  it('is written once for a piece, however many dots are in it', async () => {
    const parser = readInBulk(new SMTPStream());
    const write = jest.spyOn(parser.startDataMode(), 'write');
    await new Promise((resolve) => parser.write(Buffer.from('..\r\n'.repeat(4_000)), resolve));
    expect(write).toHaveBeenCalledTimes(1);
    expect(write.mock.calls[0]?.[0]).toHaveLength(3 * 4_000 - 3);
  });
});

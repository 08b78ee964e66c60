import { CliKit } from './cli-kit';

let cli: CliKit;
let org: string;
beforeAll(async () => {
  cli = await CliKit.createWarm();
  org = (await cli.json('org', 'create', 'Templates')).id;
});
afterAll(() => cli.destroy());

describe('waybill template', () => {
  it('lists the library, and installs of it what is named and not there', async () => {
    const names = (await cli.json('template', 'library')).map(({ name }: { name: string }) => name);
    expect(names).toHaveLength(6);
    expect(await cli.json('template', 'install', org, 'welcome')).toEqual([{ name: 'welcome', installed: true }]);
    expect(await cli.json('template', 'install', org)).toEqual(
      names.map((name: string) => ({ name, installed: name !== 'welcome' })),
    );
    const again = await cli.json('template', 'install', org);
    expect(again.filter(({ installed }: { installed: boolean }) => installed)).toEqual([]);
  });

  it('names templates that the library does not have', async () => {
    const { code, message } = await cli.failure('template', 'install', org, 'welcome', 'nothing');
    expect({ code, message }).toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('nothing') as string,
    });
  });
});

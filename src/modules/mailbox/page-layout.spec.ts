import { displayBody } from './page-layout';

describe('displayBody', () => {
  it('cuts a long text, whatever its line ends', () => {
    expect(displayBody('\r\n'.repeat(1_000), 100)).toBe(`${'\n'.repeat(99)}…`);
    expect(displayBody('\r\n'.repeat(100), 100)).toBe('\n'.repeat(100));
    expect(displayBody(`${'\r\n'.repeat(100)}x`, 100)).toBe(`${'\n'.repeat(99)}…`);
  });
});

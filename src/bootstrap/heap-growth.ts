import { setFlagsFromString } from 'node:v8';

/**
 * V8 lets a small heap grow fourfold between two collections: 300 MB of RSS at full load, where 200 do as well and as fast.
 * To be called before anything else.
 */
export function limitHeapGrowth(): void {
  setFlagsFromString('--heap-growing-percent=80');
}

import { Waybill, type WaybillOptions } from './index.js';

/** As Nest has it; this package imports nothing of Nest's. */
interface DynamicModule {
  module: typeof WaybillModule;
  global: boolean;
  imports?: never[];
  providers: object[];
  exports: (typeof Waybill)[];
}

export interface WaybillAsyncOptions {
  readonly imports?: readonly unknown[];
  readonly inject?: readonly unknown[];
  readonly useFactory: (...dependencies: never[]) => WaybillOptions | Promise<WaybillOptions>;
}

/** Provides `Waybill` everywhere: `imports: [WaybillModule.forRoot({apiKey, baseUrl})]`. */
export class WaybillModule {
  static forRoot(options: WaybillOptions): DynamicModule {
    return withProviders([{ provide: Waybill, useValue: new Waybill(options) }]);
  }

  /** With options from other providers: `useFactory: (config) => ({…}), inject: [ConfigService]`. */
  static forRootAsync({ imports = [], inject = [], useFactory }: WaybillAsyncOptions): DynamicModule {
    const create = async (...dependencies: never[]): Promise<Waybill> => new Waybill(await useFactory(...dependencies));
    return {
      ...withProviders([{ provide: Waybill, useFactory: create, inject: [...inject] }]),
      imports: [...imports] as never[],
    };
  }
}

function withProviders(providers: object[]): DynamicModule {
  return { module: WaybillModule, global: true, providers, exports: [Waybill] };
}

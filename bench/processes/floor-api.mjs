// The product's own API with another `POST /v1/emails`, which does all that accepting does up to the database: key, scope,
// limits, body, validation. The route itself returns a constant. It has the path of the product's, which is before it in the
// order of routes, since requests to other paths are tracked (common/tenant.ts), which takes longer.
import 'reflect-metadata';
import { serve } from '../harness/helper.mjs';
import { load } from '../harness/product.mjs';

serve({ start });

async function start({ environment }) {
  load('./bootstrap/run-process.js').limitHeapGrowth();
  const { ApiModule } = load('./api.module.js');
  const { loadConfig } = load('./config/load-config.js');
  const { createLogger } = load('./common/logging/logger.js');
  const { startService } = load('./bootstrap/start-service.js');
  const config = loadConfig({ ...environment, WAYBILL_ROLES: 'api' });
  const logger = createLogger({ level: config.logLevel });
  const { port } = await startService(
    config,
    { url: config.database.url, folder: undefined },
    [benchModule(), ApiModule],
    logger,
  );
  return { port };
}

/** Applies decorators without a compiler: this file is run as it is. */
function benchModule() {
  const { Body, Controller, HttpCode, Module, Post } = load('@nestjs/common');
  const { RequireScope } = load('./common/http/scopes.js');
  const { HasOwnTurns, RateLimitClass } = load('./common/http/request/request-limits.js');
  const { SEND_BODY, TakesBody } = load('./common/http/request/request-body.js');
  const { parseSendRequest } = load('./modules/emails/accept/request/parse-send-request.js');

  class ValidateController {
    validate(body) {
      const parsed = parseSendRequest(body, new Date());
      return { data: { id: '00000000-0000-7000-8000-000000000000', status: parsed.ok ? 'queued' : 'refused' } };
    }
  }
  class BenchModule {}

  const method = Object.getOwnPropertyDescriptor(ValidateController.prototype, 'validate');
  const decorators = [
    Post(),
    HttpCode(202),
    RequireScope('email:send'),
    RateLimitClass('send'),
    HasOwnTurns(),
    TakesBody(SEND_BODY),
  ];
  for (const decorate of decorators) decorate(ValidateController.prototype, 'validate', method);
  Reflect.defineMetadata('design:paramtypes', [Object], ValidateController.prototype, 'validate');
  Body()(ValidateController.prototype, 'validate', 0);
  Controller('v1/emails')(ValidateController);
  Module({ controllers: [ValidateController] })(BenchModule);
  return BenchModule;
}

// The usual way to write such a route: a stock Nest application on Express, with its body parser, and its
// ValidationPipe over a class of class-validator decorators with the fields of POST /v1/emails. No key, no limits, no log.
import 'reflect-metadata';
import { serve } from '../harness/helper.mjs';
import { load } from '../harness/product.mjs';

const { Body, Controller, HttpCode, Module, Post, ValidationPipe } = load('@nestjs/common');
const { NestFactory } = load('@nestjs/core');
const { Type } = load('class-transformer');
const rules = load('class-validator');

serve({ start });

async function start() {
  const app = await NestFactory.create(stockModule(), { logger: false });
  app.useGlobalPipes(new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }));
  await app.listen(0, '127.0.0.1');
  return { port: app.getHttpServer().address().port };
}

/** Applies decorators without a compiler: this file is run as it is. */
function stockModule() {
  class EmailsController {
    send() {
      return { data: { id: '00000000-0000-7000-8000-000000000000', status: 'queued' } };
    }
  }
  class StockModule {}

  const method = Object.getOwnPropertyDescriptor(EmailsController.prototype, 'send');
  for (const decorate of [Post(), HttpCode(202)]) decorate(EmailsController.prototype, 'send', method);
  Reflect.defineMetadata('design:paramtypes', [sendEmailDto()], EmailsController.prototype, 'send');
  Body()(EmailsController.prototype, 'send', 0);
  Controller('v1/emails')(EmailsController);
  Module({ controllers: [EmailsController] })(StockModule);
  return StockModule;
}

function sendEmailDto() {
  const { ArrayMaxSize, ArrayMinSize, IsArray, IsBase64, IsBoolean, IsEmail, IsIn, IsISO8601 } = rules;
  const { IsObject, IsOptional, IsString, Length, MaxLength, ValidateNested } = rules;
  const address = IsEmail({ allow_display_name: true });
  const addresses = [IsArray(), ArrayMaxSize(50), IsEmail({ allow_display_name: true }, { each: true })];
  const nested = (type) => [ValidateNested({ each: true }), Type(() => type)];
  const optional = (...more) => [IsOptional(), ...more];

  class Attachment {}
  decorate(Attachment, {
    filename: [IsString(), MaxLength(255)],
    content: [IsBase64()],
    contentType: optional(IsString()),
    contentId: optional(IsString()),
  });
  class Tracking {}
  decorate(Tracking, { opens: optional(IsBoolean()), clicks: optional(IsBoolean()) });
  class SendEmail {}
  decorate(SendEmail, {
    from: optional(address),
    to: [...addresses, ArrayMinSize(1)],
    cc: optional(...addresses),
    bcc: optional(...addresses),
    replyTo: optional(address),
    subject: [IsString(), Length(1, 998)],
    html: optional(IsString(), MaxLength(5 * 1024 * 1024)),
    text: optional(IsString(), MaxLength(1024 * 1024)),
    headers: optional(IsObject()),
    attachments: optional(IsArray(), ArrayMaxSize(10), ...nested(Attachment)),
    tags: optional(IsArray(), ArrayMaxSize(10), IsString({ each: true }), Length(1, 100, { each: true })),
    metadata: optional(IsObject()),
    scheduledAt: optional(IsISO8601()),
    expiresAt: optional(IsISO8601()),
    tracking: optional(...nested(Tracking)),
    category: optional(IsIn(['transactional', 'bulk'])),
    idempotencyKey: optional(IsString(), Length(1, 255)),
  });
  return SendEmail;
}

function decorate(target, properties) {
  for (const [name, decorators] of Object.entries(properties)) {
    for (const one of decorators) one(target.prototype, name);
  }
}

import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ErrorEnvelopeDto } from '../common/http/envelope.dto';
import { RELEASE } from '../common/release';
import { describeApi } from './api-description';
import { completeDocument } from './complete-document';

/** The API as OpenAPI 3.1, generated from the controllers of `app`, which need not be initialised. */
export function buildOpenApiDocument(app: INestApplication): OpenAPIObject {
  const base = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Waybill')
    .setVersion(RELEASE)
    .setDescription(describeApi())
    .setLicense('MIT', 'https://spdx.org/licenses/MIT.html')
    .addServer('/')
    .addBearerAuth({
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'wb_live_… or wb_test_…',
      description: 'An API key',
    })
    .addBearerAuth(
      { type: 'http', scheme: 'bearer', bearerFormat: 'wb_op_…', description: "An operator's key" },
      'operator',
    )
    .build();
  const generated = SwaggerModule.createDocument(app, base, {
    operationIdFactory: operationId,
    extraModels: [ErrorEnvelopeDto],
    autoTagControllers: false,
  });
  return completeDocument(generated);
}

/** `EmailsController.list` → `emails.list` */
function operationId(controller: string, method: string): string {
  const resource = controller.replace(/Controller$/, '');
  return `${resource.charAt(0).toLowerCase()}${resource.slice(1)}.${method}`;
}

import 'reflect-metadata';
import { ApiKey } from './src/auth/api-key.entity';
import { Organization } from './src/auth/organization.entity';
import { createDataSource } from './src/database/data-source';
import { AuditEntry } from './src/modules/audit/audit-entry.entity';
import { DkimKey } from './src/modules/domains/dkim/dkim-key.entity';
import { DomainCheck } from './src/modules/domains/domain-check.entity';
import { Domain } from './src/modules/domains/domain.entity';
import { RemovedDomain } from './src/modules/domains/removed-domain.entity';
import { Email } from './src/modules/emails/email.entity';
import { EmailAttachment } from './src/modules/emails/email-attachment.entity';
import { EmailContent } from './src/modules/emails/email-content.entity';
import { EmailEvent } from './src/modules/emails/email-event.entity';
import { EmailRecipient } from './src/modules/emails/email-recipient.entity';
import { Suppression } from './src/modules/suppressions/suppression.entity';
import { SuppressionHashKey } from './src/modules/suppressions/hashing/suppression-hash-key.entity';
import { PrivacyExportPart } from './src/modules/privacy/privacy-export-part.entity';
import { PrivacyRequest } from './src/modules/privacy/privacy-request.entity';
import { WebhookReplay } from './src/modules/webhooks/replay/webhook-replay.entity';
import { WebhookEndpoint } from './src/modules/webhooks/webhook-endpoint.entity';
import { WebhookMessage } from './src/modules/webhooks/webhook-message.entity';

/** For the TypeORM command line: `DATABASE_URL=… npm run typeorm -- migration:show`. */
export default createDataSource(process.env.DATABASE_URL ?? 'postgres://localhost:5432/waybill', {
  entities: [
    ApiKey,
    Organization,
    Domain,
    DkimKey,
    DomainCheck,
    RemovedDomain,
    AuditEntry,
    Email,
    EmailAttachment,
    EmailContent,
    EmailEvent,
    EmailRecipient,
    Suppression,
    SuppressionHashKey,
    PrivacyExportPart,
    PrivacyRequest,
    WebhookEndpoint,
    WebhookMessage,
    WebhookReplay,
  ],
});

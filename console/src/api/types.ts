import type { components } from './schema';

type Schemas = components['schemas'];

export type Email = Schemas['EmailListItem'];
export type EmailDetail = Schemas['EmailDetail'];
export type EmailRecipient = Schemas['EmailRecipient'];
export type EmailEvent = Schemas['EmailEvent'];
export type EmailContent = Schemas['EmailContent'];
export type Pagination = Schemas['Pagination'];
export type Domain = Schemas['Domain'];
export type DnsRecord = Schemas['DnsRecord'];
export type Dmarc = Schemas['Dmarc'];
export type DmarcSource = Schemas['DmarcSource'];
export type DomainVerification = Schemas['DomainVerification'];
export type Reputation = Schemas['Reputation'];
export type StatsSummary = Schemas['StatsSummary'];
export type StatsByHour = Schemas['StatsByHour'];
export type Hour = Schemas['HourStats'];
export type StatsByDomain = Schemas['StatsByDomain'];
export type StatsByProvider = Schemas['StatsByProvider'];
export type ProviderStats = Schemas['ProviderStats'];
export type Suppression = Schemas['Suppression'];
export type SuppressionCheck = Schemas['SuppressionCheck'];
export type OffsetPagination = Schemas['OffsetPagination'];
export type ImportedFile = Schemas['ImportedFile'];
export type InboundRoute = Schemas['InboundRoute'];
export type InboundListItem = Schemas['InboundEmailListItem'];
export type InboundEmail = Schemas['InboundEmail'];
export type Webhook = Schemas['Webhook'];
export type CreatedWebhook = Schemas['CreatedWebhook'];
export type WebhookDelivery = Schemas['WebhookDelivery'];
export type ApiKey = Schemas['ApiKey'];
export type CreatedApiKey = Schemas['CreatedApiKey'];
export type PrivacyHistory = Schemas['PrivacyHistory'];
export type PrivacyExport = Schemas['PrivacyExport'];
export type PrivacyErasure = Schemas['PrivacyErasure'];
export type FeedEvent = Schemas['Event'];

export interface Data<T> {
  readonly data: T;
}

/** The signed-in user, as `GET /console/session` returns it. */
export interface Session {
  readonly kind: 'tenant' | 'operator';
  readonly organization?: { readonly id: string; readonly name: string };
  readonly key: {
    readonly id: string;
    readonly name: string;
    readonly prefix: string;
    readonly mode?: 'live' | 'test';
    readonly scopes: readonly string[];
    readonly domainId?: string;
    /** Made by a sign-in link for this session: it is never shown, and ends with the session. */
    readonly sessionOnly?: true;
  };
  readonly service: {
    readonly version: string;
    readonly deliveryMode: 'local' | 'relay' | 'direct';
    readonly publicUrl: string;
    readonly simulatorDomain: string;
  };
}

export type OperatorOverview = Schemas['OperatorOverview'];
export type Organization = Schemas['Organization'];
export type RestrictedDomain = Schemas['RestrictedDomain'];
export type QueueShare = Schemas['QueueShare'];
export type OpenDelivery = Schemas['OpenDelivery'];
export type QueueAction = Schemas['QueueAction'];
export type QueueFilter = Schemas['QueueFilter'];
export type Worker = Schemas['Worker'];
export type AuditEntry = Schemas['OperatorAuditEntry'];
export type TemplateListItem = Schemas['TemplateListItem'];
export type Template = Schemas['Template'];
export type TemplateVersion = Schemas['TemplateVersion'];
export type RenderedTemplate = Schemas['RenderedTemplate'];
export type Attempt = Schemas['Attempt'];
export type Destination = Schemas['Destination'];
export type EgressPool = Schemas['EgressPool'];
export type WebhookDeliveryDetail = Schemas['WebhookDeliveryDetail'];

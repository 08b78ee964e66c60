import type { components } from './schema';

type Schemas = components['schemas'];

export type Email = Schemas['EmailListItemDto'];
export type EmailDetail = Schemas['EmailDetailDto'];
export type EmailRecipient = Schemas['EmailRecipientDto'];
export type EmailEvent = Schemas['EmailEventDto'];
export type EmailContent = Schemas['EmailContentDto'];
export type Pagination = Schemas['PaginationDto'];
export type Domain = Schemas['DomainDto'];
export type DnsRecord = Schemas['DnsRecordDto'];
export type Dmarc = Schemas['DmarcDto'];
export type DmarcSource = Schemas['DmarcSourceDto'];
export type DomainVerification = Schemas['DomainVerificationDto'];
export type Reputation = Schemas['ReputationDto'];
export type StatsAnswer = Schemas['StatsAnswerDto'];
export type HourlyAnswer = Schemas['HourlyAnswerDto'];
export type Hour = Schemas['HourDto'];
export type DomainStatsAnswer = Schemas['DomainStatsAnswerDto'];
export type ProviderStatsAnswer = Schemas['ProviderStatsAnswerDto'];
export type ProviderStats = Schemas['ProviderStatsDto'];
export type Suppression = Schemas['SuppressionDto'];
export type OffsetPagination = Schemas['OffsetPaginationDto'];
export type ImportedFile = Schemas['ImportedFileDto'];
export type InboundRoute = Schemas['InboundRouteDto'];
export type InboundListItem = Schemas['InboundEmailListItemDto'];
export type InboundEmail = Schemas['InboundEmailDto'];
export type Webhook = Schemas['WebhookDto'];
export type CreatedWebhook = Schemas['CreatedWebhookDto'];
export type WebhookDelivery = Schemas['WebhookDeliveryDto'];
export type ApiKey = Schemas['ApiKeyDto'];
export type CreatedApiKey = Schemas['CreatedApiKeyDto'];
export type PrivacyHistory = Schemas['PrivacyHistoryDto'];
export type PrivacyExport = Schemas['PrivacyExportDto'];
export type PrivacyErasure = Schemas['PrivacyErasureDto'];
export type FeedEvent = Schemas['EventDto'];

export interface Data<T> {
  readonly data: T;
}

/** Who is signed in, as `GET /console/session` tells. */
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
    /** Made by a sign-in link for this session: nobody has it, and it ends with the session. */
    readonly sessionOnly?: true;
  };
  readonly service: {
    readonly version: string;
    readonly deliveryMode: 'local' | 'relay' | 'direct';
    readonly publicUrl: string;
    readonly simulatorDomain: string;
  };
}

export type OperatorOverview = Schemas['OverviewDto'];
export type Organization = Schemas['OrganizationDto'];
export type QueueShare = Schemas['QueueShareDto'];
export type OpenDelivery = Schemas['OpenDeliveryDto'];
export type QueueAction = Schemas['QueueActionDto'];
export type QueueFilter = Schemas['QueueFilterDto'];
export type Worker = Schemas['WorkerDto'];
export type AuditEntry = Schemas['OperatorAuditEntryDto'];
export type TemplateListItem = Schemas['TemplateListItemDto'];
export type Template = Schemas['TemplateDto'];
export type TemplateVersion = Schemas['TemplateVersionDto'];
export type RenderedTemplate = Schemas['RenderedTemplateDto'];
export type Attempt = Schemas['AttemptDto'];
export type Destination = Schemas['DestinationDto'];
export type EgressPool = Schemas['EgressPoolDto'];
export type WebhookDeliveryDetail = Schemas['WebhookDeliveryDetailDto'];

import type { Provider } from '@nestjs/common';
import { DnsResolver } from '../../../common/dns/dns-resolver';
import { NodeDnsResolver } from '../../../common/dns/node-dns-resolver';
import { AppConfig } from '../../../config/config';
import { DomainVerificationService } from './domain-verification.service';
import { LiveRecordsService } from './live-records.service';
import { LookRecorder } from './look-recorder.service';
import { RecordChecker } from './record-checker.service';
import { VerificationRepository } from './verification.repository';

function createResolver({ delivery }: AppConfig): DnsResolver {
  return new NodeDnsResolver({ servers: delivery.dnsServers });
}

/** What the domains module needs to look at DNS records. */
export const VERIFICATION_PROVIDERS: Provider[] = [
  { provide: DnsResolver, inject: [AppConfig], useFactory: createResolver },
  RecordChecker,
  LiveRecordsService,
  LookRecorder,
  VerificationRepository,
  DomainVerificationService,
];

import { Injectable } from '@nestjs/common';
import { EgressGuard } from '../../common/egress/egress-guard';
import { ValidationError } from '../../common/errors/app-error';
import { AppConfig } from '../../config/config';
import { judgeUrl } from './webhook-url';

/** Decides where webhooks may be sent, at the time when the customer says so; each connection is checked again. */
@Injectable()
export class WebhookTargets {
  constructor(
    private readonly config: AppConfig,
    private readonly guard: EgressGuard,
  ) {}

  /**
   * Answers the URL in its canonical form. A host that cannot be looked up now is taken: DNS may be slower than the form.
   * @throws ValidationError
   */
  async accept(text: string): Promise<string> {
    const judged = judgeUrl(text, this.config.webhooks.allowPrivate);
    if (!judged.ok) throw new ValidationError({ url: [judged.problem] });
    const check = await this.guard.check(judged.url);
    if (check.kind === 'refused') throw new ValidationError({ url: [`url cannot be used: ${check.reason}`] });
    return judged.url.href;
  }
}

/**
 * Replies as servers write them, under the row that each must meet first: `who | phase | reply`. Addresses are
 * replaced by those of the documentation ranges; long replies are cut after what decides. Lines are parted as they came.
 */
export const REPLY_EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  greylisted: [
    'Postgrey | rcpt | 450 4.2.0 <ann@example.com>: Recipient address rejected: Greylisted, see http://postgrey.schweikert.ch/help/example.com.html',
    'Exim | rcpt | 451 Greylisted, please try again in 180 seconds',
    'milter-greylist | rcpt | 451 4.7.1 Greylisting in action, please come back in 00:05:00',
  ],
  'domain-authentication-deferred': [
    'Gmail | final | 421 4.7.26 This mail has been rate limited because it is unauthenticated. Gmail requires all senders to authenticate with either SPF or DKIM.',
    'Gmail | final | 421 4.7.30 Your email has been rate limited because DKIM authentication did not pass for this message.',
    'Gmail | mail | 451 4.7.24 The SPF record of the sending domain has one or more suspicious entries.',
  ],
  'recipient-rate': [
    'Gmail | rcpt | 450 4.2.1 The user you are trying to contact is receiving mail too quickly. Please resend your message at a later time.',
    'Gmail | rcpt | 450 4.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered.',
    'iCloud | final | 421 4.7.1 Messages to ann@example.com deferred due to excessive volume. Try again later - https://support.apple.com/en-us/HT204137',
  ],
  'domain-reputation-deferred': [
    'Gmail | final | 421 4.7.0 This message is suspicious due to the very low reputation of the sending domain.',
  ],
  'blocklist-deferred': [
    'Mimecast | mail | 451 IP temporarily blacklisted - https://community.mimecast.com/docs/DOC-1369#451',
    'Postfix | rcpt | 450 4.7.1 Service unavailable; Client host [192.0.2.25] blocked using zen.spamhaus.org',
  ],
  'reverse-name-deferred': [
    'Gmail | final | 421 4.7.23 The sending IP address for this message does not have a PTR record, or the PTR record does not match the sending IP.',
    'Postfix | rcpt | 450 4.7.1 Client host rejected: cannot find your hostname, [192.0.2.25]',
  ],
  'reputation-deferred': [
    'Gmail | final | 421 4.7.28 Our system has detected an unusual rate of unsolicited mail originating from your IP address. To protect our users from spam, mail sent from your IP address has been temporarily rate limited.',
    'Yahoo | mail | 421 4.7.0 [TSS04] Messages from 192.0.2.25 temporarily deferred due to unexpected volume or user complaints - 4.16.55.1; see https://postmaster.yahooinc.com/error-codes',
    'Outlook | mail | 451 4.7.650 The mail server [192.0.2.25] has been temporarily rate limited due to IP reputation. For e-mail delivery information, see https://postmaster.live.com (S775)',
  ],
  'mailbox-full-code-deferred': [
    "Gmail | rcpt | 452 4.2.2 The recipient's inbox is out of storage space. Please direct the recipient to https://support.google.com/mail/?p=OverQuotaTemp",
    'iCloud | rcpt | 450 4.2.2 user is overquota',
  ],
  'mailbox-full-deferred': ['Dovecot | final | 451 Quota exceeded (mailbox for user is full)'],
  'too-many-recipients': [
    'Gmail | rcpt | 452 4.5.3 Your message has too many recipients. For more information regarding Google sending limits, please visit https://support.google.com/mail/?p=TooManyRecipients',
    'Postfix | rcpt | 452 4.5.3 Error: too many recipients',
  ],
  'rate-limited-deferred': [
    'Outlook | greeting | 421 RP-001 (BAY004-MC1F11) Unfortunately, some messages from 192.0.2.25 weren’t sent. Please try again. The mail server IP connecting to Outlook.com has exceeded the rate limit allowed.',
    'Exchange Online | mail | 451 4.7.500 Server busy. Please try again later from [192.0.2.25]. (AS77713)',
    'Postfix | greeting | 421 4.7.0 mx.example.com Error: too many connections from 192.0.2.25',
    'Yahoo | mail | 421 Max message per connection reached, closing transmission channel',
    'Other | greeting | 421 Rate limit reached. Please try again later',
  ],
  'greylisting-unnamed': [
    'Mimecast | rcpt | 451 Internal resources are temporarily unavailable - https://community.mimecast.com/docs/DOC-1369#451',
    'Plesk | final | 451 4.7.1 Service unavailable - try again later',
  ],
  'sender-address-deferred': [
    'Postfix | rcpt | 450 4.1.8 <bounce@example.org>: Sender address rejected: Domain not found',
    'Yahoo | mail | 451 Message temporarily deferred due to unresolvable RFC.5321 from domain. See https://senders.yahooinc.com/error-codes#unresolvable-from-domain',
  ],
  'storage-deferred': [
    'Postfix | mail | 452 4.3.1 Insufficient system storage',
    'Sendmail | mail | 452 4.4.5 Insufficient disk space; try again later',
  ],
  'service-closing': [
    'Gmail | greeting | 421 4.7.0 Try again later, closing connection.',
    'Postfix | rcpt | 421 4.3.0 mx.example.com Service shutting down',
    'Exchange | greeting | 421 4.3.2 Service not available',
    'Gmail | rcpt | 421 4.3.0 Temporary System Problem. Try again later.',
  ],
  'starttls-unavailable': ['Postfix | tls | 454 4.7.0 TLS not available due to local problem'],
  'address-deferred': [
    'Postfix | rcpt | 450 4.1.1 <ann@example.com>: Recipient address rejected: unverified address: Address verification in progress',
  ],
  'policy-deferred': ['Postfix | rcpt | 450 4.7.1 <mail.example.org>: Helo command rejected: Host not found'],
  'system-deferred': [
    'Gmail | final | 451 4.3.0 Mail server temporarily rejected message. For more information, go to https://support.google.com/a/answer/3221692',
    'Postfix | rcpt | 451 4.3.5 Server configuration error',
    'Exchange | rcpt | 432 4.3.2 System not accepting network messages',
  ],
  'routing-deferred': [
    'Gmail | final | 451 4.4.2 Timeout - closing connection.',
    'Exchange Online | rcpt | 451 4.4.4 Mail received as unauthenticated, incoming to a recipient domain configured in a hosted tenant which has no mail-enabled subscriptions.',
  ],
  'relay-credentials': [
    'Gmail relay | auth | 535 5.7.8 Username and Password not accepted. For more information, go to https://support.google.com/mail/?p=BadCredentials',
    'Exchange | mail | 530 5.7.57 Client not authenticated to send mail.',
    'Amazon SES | auth | 535 Authentication Credentials Invalid',
  ],
  'tls-required': [
    'Gmail | mail | 530 5.7.0 Must issue a STARTTLS command first.',
    'Mimecast | rcpt | 553 This route requires encryption (TLS) - https://community.mimecast.com/docs/DOC-1369#553',
    'Gmail | final | 550 5.7.29 This mail has been blocked because it was not sent over TLS. Gmail requires all bulk email senders to use TLS/SSL for SMTP connections.',
  ],
  'recipient-rate-refused': [
    'Gmail | rcpt | 550 5.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered.',
    'Gmail | rcpt | 550-5.2.1 The user you are trying to contact is receiving mail at a rate that\n550-5.2.1 prevents additional messages from being delivered. For more\n550-5.2.1 information, please visit\n550 5.2.1  https://support.google.com/mail/?p=ReceivingRatePerm d9443c01a7336-2 - gsmtp',
  ],
  'domain-reputation': [
    'iCloud | final | 550 5.7.1 Your email was rejected due to having a domain present in the Spamhaus DBL -- see https://www.spamhaus.org/dbl/',
    'Gmail | final | 550-5.7.1 [192.0.2.25] Our system has detected that this message is likely\n550-5.7.1 suspicious due to the very low reputation of the sending domain. To best\n550-5.7.1 protect our users from spam, the message has been blocked. Please visit\n550 5.7.1  https://support.google.com/mail/answer/188131 for more information.',
    'rspamd | final | 554 5.7.1 Your message contains a blacklisted URL (example.org is on SURBL)',
  ],
  blocklist: [
    'GMX | greeting | 554-gmx.net (mxgmx115) Nemesis ESMTP Service not available\n554-No SMTP service\n554-IP address is black listed.\n554 For explanation visit https://postmaster.gmx.net/en/case?c=r0201&i=ip&v=192.0.2.25',
    'cPanel | rcpt | 550-"JunkMail rejected - mail.example.org [192.0.2.25]:25 is in an RBL, see\n550 https://www.spamhaus.org/query/ip/192.0.2.25"',
    "Outlook | mail | 550 5.7.1 Unfortunately, messages from [192.0.2.25] weren't sent. Please contact your Internet service provider since part of their network is on our block list (S3150).",
    'Postfix | rcpt | 554 5.7.1 Service unavailable; Client host [192.0.2.25] blocked using zen.spamhaus.org; https://www.spamhaus.org/query/ip/192.0.2.25',
    "Yahoo | greeting | 553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.25, because the ip is in Spamhaus's list; see http://postmaster.yahoo.com/550-bl23.html",
    'GMX | greeting | 554 IP address is block listed. For explanation visit https://postmaster.gmx.net/en/case?c=r0201&i=ip&v=192.0.2.25',
    'Exim | rcpt | 550 "JunkMail rejected - mail.example.org [192.0.2.25] is in an RBL, see https://www.barracudacentral.org/lookups"',
    'Exchange Online | rcpt | 550 5.7.513 Service unavailable, Client host [192.0.2.25] blocked by example.com using Customer Block list (AS16012607)',
  ],
  'domain-authentication': [
    'Gmail | final | 550-5.7.26 Your email has been blocked because the sender is unauthenticated.\n550-5.7.26 Gmail requires all senders to authenticate with either SPF or DKIM.\n550-5.7.26\n550-5.7.26  Authentication results:\n550-5.7.26  DKIM = did not pass\n550-5.7.26  SPF [example.org] with ip: [192.0.2.25] = did not pass\n550 5.7.26  https://support.google.com/mail/answer/81126#authentication',
    "Gmail | final | 550 5.7.26 Unauthenticated email from example.org is not accepted due to domain's DMARC policy. Please contact the administrator of example.org domain.",
    'Exchange Online | final | 550 5.7.509 Access denied, sending domain example.org does not pass DMARC verification and has a DMARC policy of reject.',
    'Outlook | final | 550 5.7.515 Access denied, sending domain example.org does not meet the required authentication level. To learn how to fix this see: https://go.microsoft.com/fwlink/p/?linkid=2319303 Spf= Fail , Dkim= Fail , DMARC= Fail',
    'Mimecast | final | 550 DMARC Sender Invalid - envelope rejected - https://community.mimecast.com/docs/DOC-1369#550',
    'GMX | mail | 550 <bounce@example.org>: Reject due to SPF policy. The originating IP of the message is not permitted by the domain owner',
    'Yahoo | final | 550 5.7.9 This mail has been blocked because the sender is unauthenticated. Yahoo requires all senders to authenticate with either SPF or DKIM.',
  ],
  'domain-authentication-code': ['RFC 7372 | final | 550 5.7.26 Multiple authentication checks failed'],
  'reverse-name': [
    'Gmail | final | 550 5.7.25 The IP address sending this message does not have a PTR record setup, or the corresponding forward DNS entry does not point to the sending IP.',
    'Exchange Online | mail | 550 5.7.25 Access denied, the sending IPv6 address [2001:db8::25] must have a reverse DNS record',
  ],
  'sender-address-code': [
    'Postfix | rcpt | 550 5.1.8 <bounce@example.org>: Sender address rejected: Domain not found',
    'Gmail | mail | 553 5.1.7 The sender address <bounce@example.org> is not a valid RFC 5321 address.',
    'Exchange Online | rcpt | 550 5.1.8 Access denied, bad outbound sender AS(42004)',
  ],
  'sender-address': [
    'Exim | rcpt | 550-Verification failed for <bounce@example.org>\n550-No Such User Here\n550 Sender verify failed',
    'Exim | rcpt | 550-Verification failed for <bounce@example.org>\n550-Called:   192.0.2.25\n550-Sent:     RCPT TO:<bounce@example.org>\n550-Response: 550 5.1.1 User unknown\n550 Sender verify failed',
    'Exim | rcpt | 550-Callback setup failed while verifying <bounce@example.org>\n550-(result of an earlier callout reused).\n550-The initial connection, or a HELO or MAIL FROM:<> command was\n550-rejected. Refusing MAIL FROM:<> does not help fight spam, disregards\n550-RFC requirements, and stops you from receiving standard bounce\n550-messages. This host does not accept mail from domains whose servers\n550-refuse bounces.\n550 Sender verify failed',
    'GMX | rcpt | 550-Requested action not taken: mailbox unavailable\n550-Sender address is not allowed.\n550 For explanation visit https://postmaster.gmx.net/en/error-messages',
    'GMX | mail | 550-Requested action not taken: mailbox unavailable\n550 invalid DNS MX or A/AAAA resource record',
    'Postfix | rcpt | 550 5.1.1 <bounce@example.org>: Sender address rejected: User unknown in virtual mailbox table',
    'Exim | rcpt | 550 Sender verify failed',
    'Postfix | rcpt | 554 5.7.1 <bounce@example.org>: Sender address rejected: Access denied',
    'Exchange | rcpt | 550 5.1.0 Sender denied',
  ],
  'spam-content': [
    'Gmail | final | 550 5.7.1 Our system has detected that this message is likely unsolicited mail. To reduce the amount of spam sent to Gmail, this message has been blocked.',
    'SpamAssassin | final | 550 5.7.1 Blocked by SpamAssassin',
    'Exim | final | 550 This message was classified as SPAM and may not be delivered',
    'Mimecast | final | 550 Message bounced due to Content Examination Policy - https://community.mimecast.com/docs/DOC-1369#550',
  ],
  reputation: [
    'Gmail | final | 550-5.7.1 [192.0.2.25] Our system has detected that this message is\n550-5.7.1 likely suspicious due to the very low reputation of the sending IP\n550-5.7.1 address. To best protect our users from spam, the message has been\n550-5.7.1 blocked. Please visit\n550 5.7.1  https://support.google.com/mail/answer/188131 for more information.',
    'Gmail | final | 550 5.7.1 Our system has detected that this message is likely suspicious due to the very low reputation of the sending IP address.',
    'Proofpoint | greeting | 554 5.7.0 Blocked - see https://ipcheck.proofpoint.com/?ip=192.0.2.25',
    'Mimecast | rcpt | 550 Local CT IP Reputation - (Reject) - https://community.mimecast.com/docs/DOC-1369#550',
    'Yahoo | mail | 553 5.7.2 [TSS09] All messages from 192.0.2.25 will be permanently deferred; Retrying will NOT succeed. See https://postmaster.yahooinc.com/error-codes',
    'Exchange Online | mail | 550 5.7.606 Access denied, banned sending IP [192.0.2.25]. To request removal from this list please visit https://sender.office.com/',
  ],
  'unsafe-content': [
    'Gmail | final | 552 5.7.0 This message was blocked because its content presents a potential security issue. Please visit https://support.google.com/mail/?p=BlockedMessage',
    'Amavis | final | 554 5.7.0 Reject, id=30912-05 - INFECTED: Eicar-Signature',
  ],
  'rate-limited': [
    'Gmail relay | final | 550 5.4.5 Daily SMTP relay limit exceeded for user. For more information go to https://support.google.com/a/answer/166852',
  ],
  'relay-denied': [
    'Postfix | rcpt | 554 5.7.1 <ann@example.com>: Relay access denied',
    'Exchange | rcpt | 550 5.7.1 Unable to relay',
    'Exim | rcpt | 550 relay not permitted',
    "qmail | rcpt | 553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)",
  ],
  'too-large-code': [
    "Gmail | final | 552 5.3.4 Your message exceeded Google's message size limits. To view our message size guidelines, go to https://support.google.com/mail/?p=MaxSizeError",
    'Postfix | mail | 552 5.3.4 Message size exceeds fixed limit',
    'Exchange | rcpt | 550 5.2.3 RESOLVER.RST.RecipSizeLimit; message too large for this recipient',
  ],
  'too-large': [
    'T-Online | final | 552 Error: message too large',
    'Mimecast | final | 554 Maximum email size exceeded - https://community.mimecast.com/docs/DOC-1369#554',
  ],
  'recipient-restriction': [
    'Exchange | rcpt | 550 5.2.1 You do not have permission to send to this recipient. For assistance, contact your system administrator.',
    'Other | rcpt | 550 5.1.1 This mailbox only accepts mail from known senders',
  ],
  'mailbox-full-code': [
    "Gmail | rcpt | 552 5.2.2 The recipient's inbox is out of storage space and inactive. Please direct the recipient to https://support.google.com/mail/?p=OverQuotaPerm",
    'T-Online | final | 552 5.2.2 Over STORAGE quota',
    'Dovecot | rcpt | 552 5.2.2 <ann@example.com> Quota exceeded (mailbox for user is full)',
  ],
  'mailbox-full': [
    'Web.de | rcpt | 550 Benutzer hat das Speichervolumen ueberschritten. / User has exhausted allowed storage space.',
    'Lycos | rcpt | 550 mailbox full - quota exceeded',
    'Exim | final | 552 mailbox is full (MTA-imposed quota exceeded while writing to file)',
  ],
  'only-for-now': [
    'Other | rcpt | 550 5.2.1 Mailbox temporarily disabled',
    'Other | rcpt | 550 5.1.1 Recipient could not be verified, please try again later',
  ],
  'edge-blocking': [
    'Exchange Online | rcpt | 550 5.4.1 Recipient address rejected: Access denied. AS(201806281) [VI1EUR05FT012.eop-eur05.prod.protection.outlook.com]',
  ],
  'bad-mailbox-as-policy': ['Postfix | rcpt | 554 5.7.1 <ann@example.com>: Recipient address rejected: User unknown'],
  'policy-code': [
    'iCloud | final | 550 5.7.1 [CS01] Message rejected due to local policy. Please visit https://support.apple.com/en-us/HT204137',
    'Exchange Online | rcpt | 550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required; Delivery restriction check failed because the sender was not authenticated when sending to this group',
    'Yahoo | final | 554 5.7.9 Message not accepted for policy reasons. See https://postmaster.yahooinc.com/error-codes',
  ],
  policy: [
    'Yahoo | final | 554 Message not allowed - [PH01] Email not accepted for policy reasons. Please visit https://postmaster.yahooinc.com/error-codes',
    'Mimecast | mail | 550 Administrative prohibition - envelope blocked - https://community.mimecast.com/docs/DOC-1369#550',
    'GMX | final | 554 Transaction failed. Reject due to policy restrictions.',
  ],
  'no-mail-service': ['RFC 7504 | greeting | 521 mail.example.com does not accept mail'],
  'null-mx': ['RFC 7505 | rcpt | 556 5.1.10 Recipient address has null MX'],
  'mailbox-disabled-code': [
    'Gmail | rcpt | 550-5.2.1 The email account that you tried to reach is inactive. For more\n550-5.2.1 information, go to\n550 5.2.1  https://support.google.com/mail/?p=DisabledUser',
    'Gmail | rcpt | 550 5.2.1 The email account that you tried to reach is inactive. For more information, go to https://support.google.com/mail/?p=DisabledUser',
    'GMX | rcpt | 550 5.2.1 <ann@example.com>... User is inactive',
  ],
  'bad-domain-code': ['Postfix | rcpt | 550 5.1.2 <ann@example.com>: Recipient address rejected: Domain not found'],
  'bad-mailbox-code': [
    "Gmail | rcpt | 550-5.1.1 The email account that you tried to reach does not exist. Please try\n550-5.1.1 double-checking the recipient's email address for typos or\n550-5.1.1 unnecessary spaces. For more information, go to\n550 5.1.1  https://support.google.com/mail/?p=NoSuchUser",
    'Gmail | rcpt | 550 5.1.1 The email account that you tried to reach does not exist. Please try double-checking the recipient’s email address for typos or unnecessary spaces.',
    'iCloud | rcpt | 550 5.1.1 <ann@example.com>: user does not exist',
    'Postfix | rcpt | 550 5.1.1 <ann@example.com>: Recipient address rejected: User unknown in virtual mailbox table',
    'Exchange Online | rcpt | 550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient ann@example.com not found by SMTP address lookup',
    'qmail | final | 554 Sorry, no mailbox here by that name. (#5.1.1)',
    'Cisco IronPort | rcpt | 550 #5.1.0 Address rejected.',
  ],
  'mailbox-disabled': [
    'Yahoo | final | 554 30 Sorry, your message to ann@example.com cannot be delivered. This mailbox is disabled (554.30).',
    'Yahoo | final | 554 delivery error: dd Sorry your message to ann@example.com cannot be delivered. This account has been disabled or discontinued [#102].',
  ],
  'bad-mailbox': [
    'Exim | rcpt | 550-Callout verification failed:\n550 550 No such user here',
    "Yahoo | final | 554 delivery error: dd This user doesn't have a yahoo.com account (ann@example.com) [0]",
    'Yahoo | final | 552 1 Requested mail action aborted, mailbox not found',
    'Exim | rcpt | 550 Unrouteable address',
    'cPanel | rcpt | 550 No Such User Here',
    'Mimecast | rcpt | 550 Invalid Recipient - https://community.mimecast.com/docs/DOC-1369#550',
    'Web.de | rcpt | 550 Benutzer nicht bekannt/User unknown',
    'Domino | rcpt | 550 ann@example.com not listed in Domino Directory',
  ],
  'mailbox-unavailable': [
    'GMX | rcpt | 550 Requested action not taken: mailbox unavailable',
    'Outlook | rcpt | 550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302).',
  ],
  'bad-domain': ['Sendmail | rcpt | 550 <ann@example.com>... Host unknown (Name server: example.com: host not found)'],
  'mail-loop': [
    'Gmail | final | 554 5.4.6 Message exceeded 50 hops, this may indicate a mail loop.',
    'Exchange | rcpt | 554 5.4.14 Hop count exceeded - possible mail loop ATTR34',
    'Postfix | final | 554 5.4.0 Error: too many hops',
  ],
  'content-code': [
    'Gmail | final | 554 5.6.0 Mail message is malformed. Not accepted.',
    'Exchange | final | 550 5.6.11 SMTPSEND.BareLinefeedsAreIllegal; message contains bare linefeeds, which cannot be sent via DATA and receiving system does not support BDAT',
  ],
  'routing-code': [
    'Exchange | rcpt | 554 5.4.4 SMTPSEND.DNS.NonExistentDomain; nonexistent domain',
    'Exchange Online | rcpt | 550 5.4.316 Message expired, connection refused(Socket error code 10061)',
  ],
  'system-code': [
    'Sendmail | rcpt | 554 5.3.5 Local configuration error',
    'Exchange | final | 550 5.3.0 Too many related errors',
  ],
  'protocol-code': [
    'Gmail | greeting | 501 5.5.4 HELO/EHLO argument is invalid. https://support.google.com/mail/?p=helo',
    'Postfix | data | 554 5.5.1 Error: no valid recipients',
  ],
  'protocol-reply': [
    'Exim | data | 503 valid RCPT command must precede DATA',
    'GMX | mail | 501 Syntax error in parameters or arguments',
  ],
  'storage-reply': ['RFC 5321 | final | 552 Requested mail action aborted'],
  'default-temporary': [
    'RFC 5321 | rcpt | 450 Requested mail action not taken: mailbox unavailable',
    'Exim | rcpt | 451 Temporary local problem - please try later',
    'qmail | final | 451 qq temporary problem (#4.0.0)',
  ],
  'default-permanent-recipient': ['Other | rcpt | 550 Recipient verification problem'],
  'default-permanent': ['Lotus | final | 554 Transaction failed', 'GMX | greeting | 554 No SMTP service'],
};

import {
  beginDelivery,
  type Endpoint,
  readEndpointStates,
  type WebhookLease,
} from '../../db/events/webhook-leases.ts'
import { Shares } from '../../load/shares.ts'
import type { CursorMac } from '../../signing/cursor-mac.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import type { MasterKey } from '../../signing/master-key.ts'
import { EndpointSender, type EndpointSenderDeps } from './endpoint-sender.ts'
import {
  WEBHOOK_ENDPOINTS_MAX,
  WEBHOOK_EVENTS_IN_MEMORY,
  WEBHOOK_LEASE_MS,
  WEBHOOK_LEASE_RENEW_EVERY_MS,
  WEBHOOK_OPEN_MAX,
  WEBHOOK_POLL_MS,
  WEBHOOK_REQUESTS_MAX,
  WEBHOOK_SIGNERS_CACHED_MAX,
  WEBHOOK_STOP_MS_MAX,
} from './limits.ts'
import { DeliveryLoader } from './load.ts'
import { openWebhookSecret, type WebhookSigner } from './secrets.ts'

export type EndpointSendersDeps = Omit<EndpointSenderDeps, 'requests'> & {
  readonly masterKey: Pick<MasterKey, 'open'>
  readonly envelopeKeys: EnvelopeKeys
  readonly cursorMac: CursorMac
  /** URL of a ledger's entries, as clients see it. */
  readonly entriesUrl: string
}

/** Delivers to many endpoints at once. One query reads the changes of all of them. */
export class EndpointSenders {
  readonly #deps: EndpointSendersDeps
  readonly #senders = new Set<EndpointSender>()
  readonly #leases = new Set<Promise<unknown>>()
  readonly #signers = new Map<string, WebhookSigner>()
  /**
   * Divides the concurrent requests among the endpoints. Otherwise a hundred slow endpoints of one tenant would take
   * all requests, because the endpoint whose request ends is the first to start another one.
   */
  readonly #requests = new Shares({ rule: 'rest', max: WEBHOOK_REQUESTS_MAX })
  #renewedAt = 0
  #timer: NodeJS.Timeout | null = null
  #isPolling = false
  #stopping = false

  constructor(deps: EndpointSendersDeps) {
    this.#deps = deps
  }

  get size(): number {
    return this.#senders.size
  }

  get queued(): number {
    return [...this.#senders].reduce((sum, { queued }) => sum + queued, 0)
  }

  get requestsUnderWay(): number {
    return this.#requests.taken
  }

  /** Delivers until the lease ends. Does nothing if another job has the lease. */
  async take(lease: WebhookLease): Promise<void> {
    if (this.#stopping) return
    const taken = this.#take(lease)
    const ended = taken.catch(() => {}).finally(() => this.#leases.delete(ended))
    this.#leases.add(ended)
    await taken
  }

  async #take(lease: WebhookLease): Promise<void> {
    const limits = { leaseMs: WEBHOOK_LEASE_MS, openMax: WEBHOOK_OPEN_MAX }
    const endpoint = await beginDelivery(this.#deps.pool, this.#deps.cursorMac, lease, limits)
    if (!endpoint) return
    const about = {
      loader: new DeliveryLoader(this.#deps, endpoint, () => WEBHOOK_EVENTS_IN_MEMORY / this.#senders.size),
      signers: endpoint.secrets.map((secret) => this.#signerOf(endpoint, secret)),
      mayLinger: () => this.#senders.size < WEBHOOK_ENDPOINTS_MAX / 2,
    }
    const sender = new EndpointSender({ ...this.#deps, requests: this.#requests }, lease, endpoint, about)
    this.#senders.add(sender)
    this.#timer ??= setInterval(() => void this.poll(), WEBHOOK_POLL_MS)
    try {
      if (this.#stopping) sender.close()
      await sender.run()
    } finally {
      this.#senders.delete(sender)
      if (this.#senders.size === 0) this.#stopPolling()
    }
  }

  /**
   * Starts nothing more. Waits up to WEBHOOK_STOP_MS_MAX for the requests under way, then aborts them. Other workers
   * send aborted deliveries again.
   */
  async stop(): Promise<void> {
    this.#stopping = true
    for (const sender of this.#senders) sender.close()
    const cut = setTimeout(() => {
      for (const sender of this.#senders) sender.cut()
    }, WEBHOOK_STOP_MS_MAX)
    await Promise.all(this.#leases)
    clearTimeout(cut)
  }

  /**
   * Reads changes of all endpoints and renews their leases. A failed read changes nothing here: a lease that is not
   * renewed ends by itself.
   */
  async poll(): Promise<void> {
    if (this.#isPolling || this.#senders.size === 0) return
    this.#isPolling = true
    const senders = [...this.#senders]
    const isRenewal = performance.now() - this.#renewedAt > WEBHOOK_LEASE_RENEW_EVERY_MS
    try {
      const leases = senders.map(({ lease }) => lease)
      const { pool, cursorMac } = this.#deps
      const states = await readEndpointStates(pool, cursorMac, leases, isRenewal ? WEBHOOK_LEASE_MS : null)
      if (isRenewal) this.#renewedAt = performance.now()
      for (const [i, sender] of senders.entries()) sender.applyState(states[i]!)
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'active endpoints could not be read')
    } finally {
      this.#isPolling = false
    }
  }

  #stopPolling(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  /** Returns the signer of a secret. Caches opened secrets, because an endpoint often gets another lease soon. */
  #signerOf(endpoint: Endpoint, secret: Endpoint['secrets'][number]): WebhookSigner {
    const known = this.#signers.get(secret.secretId)
    if (known) return known
    const signer = openWebhookSecret(this.#deps.masterKey, { ...endpoint, ...secret })
    if (this.#signers.size >= WEBHOOK_SIGNERS_CACHED_MAX)
      this.#signers.delete(this.#signers.keys().next().value!)
    this.#signers.set(secret.secretId, signer)
    return signer
  }
}

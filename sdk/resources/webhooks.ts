import { ConflictError, SecretLostError, UnknownOutcomeError } from '../errors.ts'
import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import { wrongServer } from '../http/answers.ts'
import type { Listing } from '../http/listing.ts'
import { Retries } from '../http/retries.ts'
import type { CallOptions, Transport } from '../http/transport.ts'

export type WebhooksQuery = Omit<api.GetWebhooksQuery, 'cursor'>
export type DeliveriesQuery = Omit<api.GetWebhooksByIdDeliveriesQuery, 'cursor'>
/** A webhook with what its deliveries verify with: `publicKey`, and `secret`, which is answered once. */
export type WebhookWithSecret = api.PostWebhooksAnswer
export type DeliveryAttempt = api.Delivery['attemptLog'][number]

/**
 * Endpoints that the ledger's events are delivered to, and their deliveries. A receiver verifies them with
 * `webhooks.verify` of this library.
 *
 * None of it takes an idempotency key. A call that comes to the same when it is made twice is repeated if its answer
 * was lost; the rest (`delete`, `rotateSecret`, `test`, `redeliver`, `recover`) is not: look before you repeat it.
 */
export class Webhooks {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /**
   * `POST /v1/webhooks`: it hears of what is appended from now on. ConflictError where the ledger has one that is just like it, and
   * `problem.webhook` names that one. SecretLostError where the first answer was lost, and the call repeated: `rotateSecret` makes another.
   */
  async create(request: api.PostWebhooksBody, options: CallOptions = {}): Promise<WebhookWithSecret> {
    const retries = new Retries(this.#http.retriesOf(options), options.signal)
    const once = { ...options, retriesMax: 0 }
    for (let mayBeThere = false; ; ) {
      try {
        return await this.#http.json(operations.postWebhooks, { body: request, options: once })
      } catch (error) {
        const twin = error instanceof ConflictError ? error.problem.webhook : undefined
        if (mayBeThere && twin !== undefined) throw new SecretLostError(twin)
        mayBeThere ||= error instanceof UnknownOutcomeError && !error.nothingDone
        await retries.before(error)
      }
    }
  }

  /** `GET /v1/webhooks`: in the order in which they were made, without their secrets. */
  list(query: WebhooksQuery = {}, options?: CallOptions): Listing<api.Webhook> {
    return this.#http.list(operations.getWebhooks, { query, options })
  }

  /** `GET /v1/webhooks/{id}`: `standing` says how far it has heard, and how it answers. */
  get(id: string, options?: CallOptions): Promise<api.Webhook> {
    return this.#http.json(operations.getWebhooksById, { params: { id }, options })
  }

  /** `PATCH /v1/webhooks/{id}`: members that are not named stay as they are, and so do its secrets. */
  update(id: string, changes: api.PatchWebhooksByIdBody, options?: CallOptions): Promise<api.Webhook> {
    return this.#http.json(operations.patchWebhooksById, { params: { id }, body: changes, options })
  }

  /** `POST /v1/webhooks/{id}/pause`: events wait until it is resumed. */
  pause(id: string, options?: CallOptions): Promise<api.Webhook> {
    return this.#http.json(operations.postWebhooksByIdPause, { params: { id }, body: {}, options })
  }

  /** `POST /v1/webhooks/{id}/resume`: `from: 'now'` leaves out what it has missed; without that all of it is delivered. */
  resume(
    id: string,
    request: api.PostWebhooksByIdResumeBody = {},
    options?: CallOptions,
  ): Promise<api.Webhook> {
    return this.#http.json(operations.postWebhooksByIdResume, { params: { id }, body: request, options })
  }

  /** `DELETE /v1/webhooks/{id}`: with its secrets and deliveries; not to be undone. */
  delete(id: string, options?: CallOptions): Promise<void> {
    return this.#http.done(operations.deleteWebhooksById, { params: { id }, options })
  }

  /**
   * `POST /v1/webhooks/{id}/rotate-secret`: deliveries are signed with those before as well for `overlapSeconds`, by default a day.
   * Not repeated where the answer is lost, because each time makes a secret.
   */
  rotateSecret(
    id: string,
    request: api.PostWebhooksByIdRotateSecretBody = {},
    options?: CallOptions,
  ): Promise<WebhookWithSecret> {
    return this.#http.json(operations.postWebhooksByIdRotateSecret, {
      params: { id },
      body: request,
      options,
    })
  }

  /** `POST /v1/webhooks/{id}/test`: sends an event that says nothing; `delivery` says later what became of it. */
  test(id: string, options?: CallOptions): Promise<api.Delivery> {
    return this.#http.json(operations.postWebhooksByIdTest, { params: { id }, body: {}, options })
  }

  /** `GET /v1/webhooks/{id}/deliveries`: newest first, without their attempts. */
  deliveries(id: string, query: DeliveriesQuery = {}, options?: CallOptions): Listing<api.DeliverySummary> {
    return this.#http.list(operations.getWebhooksByIdDeliveries, { params: { id }, query, options })
  }

  /** `GET /v1/webhooks/{id}/deliveries/{event}`: with its attempts. `event`: `evt_…`, the `webhook-id`. */
  delivery(id: string, event: string, options?: CallOptions): Promise<api.Delivery> {
    return this.#http.json(operations.getWebhooksByIdDeliveriesByEvent, { params: { id, event }, options })
  }

  /** `POST /v1/webhooks/{id}/deliveries/{event}/redeliver`: now, under the same id, whatever became of it before. */
  redeliver(id: string, event: string, options?: CallOptions): Promise<api.Delivery> {
    return this.#http.json(operations.postWebhooksByIdDeliveriesByEventRedeliver, {
      params: { id, event },
      body: {},
      options,
    })
  }

  /**
   * `POST /v1/webhooks/{id}/redeliver-dead`: all that was given up, oldest first, in as many requests as that takes; answers how many
   * there were. Where it ends with an error, what was asked for until then is delivered all the same.
   */
  async redeliverDead(
    id: string,
    request: api.PostWebhooksByIdRedeliverDeadBody = {},
    options?: CallOptions,
  ): Promise<number> {
    const call = { params: { id }, body: request, options }
    for (let redelivered = 0; ; ) {
      const page = await this.#http.json<api.PostWebhooksByIdRedeliverDeadAnswer>(
        operations.postWebhooksByIdRedeliverDead,
        call,
      )
      redelivered += page.redelivered
      if (!page.more) return redelivered
      // Another request would never get to the end.
      if (!(page.redelivered > 0)) throw wrongServer('more is to be redelivered, and nothing was')
    }
  }

  /**
   * `POST /v1/webhooks/{id}/recover`: delivers the events of a time that were never delivered, and with `delivered` all
   * of them again. It goes on by itself: `standing.recovery` says how far it is.
   */
  recover(id: string, request: api.PostWebhooksByIdRecoverBody, options?: CallOptions): Promise<api.Webhook> {
    return this.#http.json(operations.postWebhooksByIdRecover, { params: { id }, body: request, options })
  }
}

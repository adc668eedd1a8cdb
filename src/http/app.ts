import Fastify, { type FastifyInstance, LogController } from 'fastify'
import { BODY_BYTES_MAX } from '../load/limits.ts'
import { makeProve } from './connections/prove.ts'
import type { Deps } from './deps.ts'
import { CONNECTIONS_CHECK_EVERY_MS, IDLE_CONNECTION_MS_MAX, REQUEST_TIMEOUT_MS } from './limits.ts'
import { collectOperations } from './openapi/operations.ts'
import { useAdmission } from './plugins/admit.ts'
import { useAnswerHeaders } from './plugins/answer-headers.ts'
import { useAuthentication } from './plugins/authenticate.ts'
import { useBodyBudget } from './plugins/body-budget.ts'
import { useJsonBody } from './plugins/json-body.ts'
import { refuseMalformedHeaders, refuseMalformedHttp, useMalformed } from './plugins/malformed.ts'
import { useMeasurement } from './plugins/measure.ts'
import { refuseOtherMethods, takeHead } from './plugins/methods.ts'
import { sendProblem, useProblems } from './plugins/problems.ts'
import { useRateLimits } from './plugins/rate-limit.ts'
import { useRequestLog } from './plugins/request-log.ts'
import { useTracing } from './plugins/trace.ts'
import { useUnreadAnswers } from './plugins/unread-answers.ts'
import { requireReads } from './reads/reads.ts'
import { agentRoutes } from './routes/agents.ts'
import { auditRoutes } from './routes/audits.ts'
import { checkpointRoutes } from './routes/checkpoints.ts'
import { consoleRoutes } from './routes/console.ts'
import { docsRoutes } from './routes/docs.ts'
import { entryRoutes } from './routes/entries.ts'
import { erasureRoutes } from './routes/erasures.ts'
import { eventRoutes } from './routes/events.ts'
import { federationRoutes } from './routes/federation.ts'
import { gatedRecordRoutes } from './routes/gated-records.ts'
import { healthRoutes } from './routes/health.ts'
import { keyDocumentRoutes } from './routes/key-document.ts'
import { keyRoutes } from './routes/keys.ts'
import { ledgerRestoreRoutes } from './routes/ledger-restores.ts'
import { ledgerRoutes } from './routes/ledgers.ts'
import { mcpRoutes } from './routes/mcp.ts'
import { openApiRoutes } from './routes/openapi.ts'
import { otlpRoutes } from './routes/otlp.ts'
import { peerReconciliationRoutes } from './routes/peer-reconciliation.ts'
import { peerRoutes } from './routes/peers.ts'
import { predicateRoutes } from './routes/predicates.ts'
import { proofRoutes } from './routes/proofs.ts'
import { rateLimitRoutes } from './routes/rate-limits.ts'
import { receiptRoutes } from './routes/receipts.ts'
import { recordReadRoutes } from './routes/record-reads.ts'
import { recordRoutes } from './routes/records.ts'
import { retentionRoutes } from './routes/retention.ts'
import { sharedRecordRoutes } from './routes/shared-records.ts'
import { signingKeyRoutes } from './routes/signing-keys.ts'
import { statementRoutes } from './routes/statements.ts'
import { subjectRoutes } from './routes/subjects.ts'
import { tileRoutes } from './routes/tiles.ts'
import { typeRoutes } from './routes/types.ts'
import { webhookDeliveryRoutes } from './routes/webhook-deliveries.ts'
import { webhookRoutes } from './routes/webhooks.ts'
import { openCheckpointWaits } from './tails/checkpoint-waits.ts'
import { useZodValidation } from './zod-validation.ts'

/** Paths are compared exactly: case and trailing slashes matter. */
const ROUTER = { ignoreTrailingSlash: false, caseSensitive: true, maxParamLength: 100 }

/**
 * Builds the HTTP application: first plugins, then routes. Plugins that observe the whole request come first. The other
 * plugins are in the order of the phases of a request. docs/operate/operations.md lists what each phase can refuse.
 */
export function buildApp(deps: Deps): FastifyInstance {
  const app = Fastify({
    bodyLimit: BODY_BYTES_MAX,
    loggerInstance: deps.log,
    // Fastify's own two log lines per request are switched off, because they cost more than the validation of a
    // request. useProblems logs failures, and useRequestLog logs each request if that is switched on. In log lines
    // the request's id has the same label as in problem documents.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: () => `req_${Buffer.from(deps.entropy.bytes16()).toString('hex')}`,
    // HEAD routes are added by `takeHead` instead.
    exposeHeadRoutes: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: IDLE_CONNECTION_MS_MAX,
    clientErrorHandler: refuseMalformedHttp,
    frameworkErrors: (error, request, reply) => sendProblem(request, reply, error),
    // If a request has two Authorization headers, Node would use the first one. Here they are joined into one value,
    // which is invalid, so the request is refused.
    http: {
      joinDuplicateHeaders: true,
      connectionsCheckingInterval: CONNECTIONS_CHECK_EVERY_MS,
      // refuseMalformedHeaders checks the Host header instead.
      requireHostHeader: false,
    },
    // While the server closes, it still answers requests on open connections.
    return503OnClosing: false,
    // These options are off, because a document may have a member named __proto__ or constructor.
    onProtoPoisoning: 'ignore',
    onConstructorPoisoning: 'ignore',
    routerOptions: ROUTER,
  }) as unknown as FastifyInstance
  if (deps.tracing) useTracing(app, deps.tracing)
  useMeasurement(app, deps)
  if (deps.logRequests) useRequestLog(app)
  useProblems(app)
  // Plugins that act before Fastify sees the request
  useMalformed(app)
  const prove = makeProve(deps)
  useAdmission(app, { ...deps, prove })
  // Plugins for the headers
  refuseMalformedHeaders(app)
  refuseOtherMethods(app, ROUTER)
  useAuthentication(app, { ...deps, prove })
  useRateLimits(app)
  // Plugins for the body
  useBodyBudget(app, deps)
  useJsonBody(app, deps)
  useZodValidation(app)
  // Plugins for the answer
  useAnswerHeaders(app)
  useUnreadAnswers(app, deps)
  const operations = collectOperations(app)
  requireReads(app, deps.reads)
  takeHead(app)

  healthRoutes(app, deps)
  keyDocumentRoutes(app, deps)
  ledgerRoutes(app, deps)
  ledgerRestoreRoutes(app, deps)
  agentRoutes(app, deps)
  signingKeyRoutes(app, deps)
  keyRoutes(app, deps)
  rateLimitRoutes(app, deps)
  typeRoutes(app, deps)
  recordRoutes(app, deps)
  otlpRoutes(app, deps)
  gatedRecordRoutes(app, deps)
  erasureRoutes(app, deps)
  retentionRoutes(app, deps)
  subjectRoutes(app, deps)
  recordReadRoutes(app, deps)
  sharedRecordRoutes(app, deps)
  entryRoutes(app, deps)
  checkpointRoutes(app, deps)
  proofRoutes(app, deps)
  const waits = openCheckpointWaits(app, deps)
  receiptRoutes(app, deps, waits)
  statementRoutes(app, deps, waits)
  tileRoutes(app, deps)
  auditRoutes(app, deps)
  eventRoutes(app, deps)
  webhookRoutes(app, deps)
  webhookDeliveryRoutes(app, deps)
  peerRoutes(app, deps)
  peerReconciliationRoutes(app, deps)
  federationRoutes(app, deps)
  mcpRoutes(app, deps)
  predicateRoutes(app)
  openApiRoutes(app, operations, deps)
  docsRoutes(app)
  consoleRoutes(app, deps)
  return app
}

import Fastify, { type FastifyInstance, LogController } from 'fastify'
import type { Deps } from './http/deps.ts'
import { collectOperations } from './http/openapi/operations.ts'
import { useAdmission } from './http/plugins/admit.ts'
import { useAnswerHeaders } from './http/plugins/answer-headers.ts'
import { useAuthentication } from './http/plugins/authenticate.ts'
import { useBodyBudget } from './http/plugins/body-budget.ts'
import { useJsonBody } from './http/plugins/json-body.ts'
import { useMeasurement } from './http/plugins/measure.ts'
import { refuseOtherMethods } from './http/plugins/methods.ts'
import { refuseMalformedHttp, sendProblem, useProblems } from './http/plugins/problems.ts'
import { useRateLimits } from './http/plugins/rate-limit.ts'
import { useRequestLog } from './http/plugins/request-log.ts'
import { useTracing } from './http/plugins/trace.ts'
import { useUnreadAnswers } from './http/plugins/unread-answers.ts'
import { agentRoutes } from './http/routes/agents.ts'
import { auditRoutes } from './http/routes/audits.ts'
import { checkpointRoutes } from './http/routes/checkpoints.ts'
import { docsRoutes } from './http/routes/docs.ts'
import { entryRoutes } from './http/routes/entries.ts'
import { erasureRoutes } from './http/routes/erasures.ts'
import { eventRoutes } from './http/routes/events.ts'
import { federationRoutes } from './http/routes/federation.ts'
import { gatedRecordRoutes } from './http/routes/gated-records.ts'
import { healthRoutes } from './http/routes/health.ts'
import { keyDocumentRoutes } from './http/routes/key-document.ts'
import { keyRoutes } from './http/routes/keys.ts'
import { ledgerRestoreRoutes } from './http/routes/ledger-restores.ts'
import { ledgerRoutes } from './http/routes/ledgers.ts'
import { openApiRoutes } from './http/routes/openapi.ts'
import { peerReconciliationRoutes } from './http/routes/peer-reconciliation.ts'
import { peerRoutes } from './http/routes/peers.ts'
import { predicateRoutes } from './http/routes/predicates.ts'
import { proofRoutes } from './http/routes/proofs.ts'
import { rateLimitRoutes } from './http/routes/rate-limits.ts'
import { recordReadRoutes } from './http/routes/record-reads.ts'
import { recordRoutes } from './http/routes/records.ts'
import { sharedRecordRoutes } from './http/routes/shared-records.ts'
import { typeRoutes } from './http/routes/types.ts'
import { webhookDeliveryRoutes } from './http/routes/webhook-deliveries.ts'
import { webhookRoutes } from './http/routes/webhooks.ts'
import { useZodValidation } from './http/zod-validation.ts'
import {
  BODY_BYTES_MAX,
  CONNECTIONS_LOOK_EVERY_MS,
  KEPT_CONNECTION_MS,
  REQUEST_TIMEOUT_MS,
} from './limits.ts'

/** Addresses are compared as they are. */
const ROUTER = { ignoreTrailingSlash: false, caseSensitive: true, maxParamLength: 100 }

/** The HTTP application: plugins, then routes, in the order in which they apply. */
export function buildApp(deps: Deps): FastifyInstance {
  const app = Fastify({
    bodyLimit: BODY_BYTES_MAX,
    loggerInstance: deps.log,
    // Two lines a request cost more than the request's own validation; failures are logged by useProblems, and where it is wanted
    // each request by useRequestLog. The name of its id is that of problem documents.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: () => `req_${Buffer.from(deps.entropy.bytes16()).toString('hex')}`,
    // A HEAD of an export would run the whole export.
    exposeHeadRoutes: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEPT_CONNECTION_MS,
    clientErrorHandler: refuseMalformedHttp,
    frameworkErrors: (error, request, reply) => sendProblem(request, reply, error),
    // Of two Authorization headers Node would take the first; joined, they are no valid header and are refused.
    http: { joinDuplicateHeaders: true, connectionsCheckingInterval: CONNECTIONS_LOOK_EVERY_MS },
    // What still arrives on a connection that is open is answered while the server closes, not turned away.
    return503OnClosing: false,
    // A document member called __proto__ is a document member.
    onProtoPoisoning: 'ignore',
    onConstructorPoisoning: 'ignore',
    routerOptions: ROUTER,
  }) as unknown as FastifyInstance
  if (deps.tracing) useTracing(app, deps.tracing)
  useMeasurement(app, deps)
  if (deps.logRequests) useRequestLog(app)
  useProblems(app)
  refuseOtherMethods(app, ROUTER)
  useAdmission(app, deps)
  useAnswerHeaders(app)
  useUnreadAnswers(app, deps)
  useBodyBudget(app, deps)
  useJsonBody(app, deps)
  useZodValidation(app)
  useAuthentication(app, deps)
  useRateLimits(app)
  const operations = collectOperations(app)

  healthRoutes(app, deps)
  keyDocumentRoutes(app, deps)
  ledgerRoutes(app, deps)
  ledgerRestoreRoutes(app, deps)
  agentRoutes(app, deps)
  keyRoutes(app, deps)
  rateLimitRoutes(app, deps)
  typeRoutes(app, deps)
  recordRoutes(app, deps)
  gatedRecordRoutes(app, deps)
  erasureRoutes(app, deps)
  recordReadRoutes(app, deps)
  sharedRecordRoutes(app, deps)
  entryRoutes(app, deps)
  checkpointRoutes(app, deps)
  proofRoutes(app, deps)
  auditRoutes(app, deps)
  eventRoutes(app, deps)
  webhookRoutes(app, deps)
  webhookDeliveryRoutes(app, deps)
  peerRoutes(app, deps)
  peerReconciliationRoutes(app, deps)
  federationRoutes(app, deps)
  predicateRoutes(app)
  openApiRoutes(app, operations)
  docsRoutes(app)
  return app
}

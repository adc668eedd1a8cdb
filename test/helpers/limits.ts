import * as append from '../../src/append/limits.ts'
import * as db from '../../src/db/limits.ts'
import * as followers from '../../src/followers/limits.ts'
import * as http from '../../src/http/limits.ts'
import * as ledgers from '../../src/ledgers/limits.ts'
import * as ledgersTypes from '../../src/ledgers/types/limits.ts'
import * as ledgersTypesSchema from '../../src/ledgers/types/schema/limits.ts'
import * as load from '../../src/load/limits.ts'
import * as observe from '../../src/observe/limits.ts'
import * as outsideConnector from '../../src/outside/connector/limits.ts'
import * as outsideEvents from '../../src/outside/events/limits.ts'
import * as outsideFederation from '../../src/outside/federation/limits.ts'
import * as outsideWebhooks from '../../src/outside/webhooks/limits.ts'
import * as requests from '../../src/proof/request-limits.ts'
import * as records from '../../src/records/limits.ts'
import * as run from '../../src/run/limits.ts'
import * as signing from '../../src/signing/limits.ts'
import * as verify from '../../src/verify/limits.ts'

export const limits = {
  ...append,
  ...db,
  ...followers,
  ...http,
  ...ledgers,
  ...ledgersTypes,
  ...ledgersTypesSchema,
  ...load,
  ...observe,
  ...outsideConnector,
  ...outsideEvents,
  ...outsideFederation,
  ...outsideWebhooks,
  ...records,
  ...requests,
  ...run,
  ...signing,
  ...verify,
}

import type { Admission } from '../admission.ts'
import { REQUESTS_UNDER_WAY_MAX } from '../limits.ts'
import type { Metrics } from './metrics.ts'
import { readCounter, readGauge } from './readings.ts'

export function watchAdmission(metrics: Metrics, admission: Admission): void {
  readGauge(
    metrics,
    {
      name: 'tallystick_http_requests_under_way',
      help: `Requests that are worked at, or begin soon; beyond ${REQUESTS_UNDER_WAY_MAX} all but bursts are refused`,
    },
    () => admission.underWay,
  )
  readCounter(
    metrics,
    {
      name: 'tallystick_http_requests_refused_total',
      help: 'Requests that were refused at once, 503, because too many were under way',
    },
    () => admission.refused,
  )
}

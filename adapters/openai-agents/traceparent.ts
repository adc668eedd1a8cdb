const TRACE_ID = /^trace_([0-9a-f]{32})$/

/** W3C Trace Context: by the trace's id all of its records are found (`GET /v1/records?traceId=`). */
export function traceparentOf(traceId: string): string | undefined {
  const id = TRACE_ID.exec(traceId)?.[1]
  return id === undefined || /^0+$/.test(id.slice(16)) ? undefined : `00-${id}-${id.slice(16)}-01`
}

const TRACE_ID = /^trace_([0-9a-f]{32})$/

/**
 * Returns the W3C Trace Context of a trace id, by which all records of the trace are found (`GET
 * /v1/records?traceId=`). Returns undefined if the id does not have the library's form.
 */
export function traceparentOf(traceId: string): string | undefined {
  const id = TRACE_ID.exec(traceId)?.[1]
  return id === undefined || /^0+$/.test(id.slice(16)) ? undefined : `00-${id}-${id.slice(16)}-01`
}

import multipart from '@fastify/multipart';
import { fastify, type FastifyError, type FastifyInstance } from 'fastify';
import { addBulkRoute } from '../bulk/bulk';
import { addCertificateRoutes } from '../endpoints/certificates';
import { addControlRoutes } from '../faults/control';
import { addCredentialRoute, addCustomerRoutes } from '../endpoints/customers';
import { addExtractionRoutes } from '../endpoints/extraction';
import { addIrmRoutes } from '../endpoints/irms';
import { addPushRoute } from '../endpoints/push';
import type { Context } from './route';
import { addStatusRoute } from '../endpoints/status';
import { addTemplateRoute } from '../endpoints/template';

/** A push message of 999 rows has about half a megabyte. */
const BODY_LIMIT = 10 * 1024 * 1024;

/** Registers all endpoints. `refuse` closes the port, or opens it again. */
export async function buildServer(
  context: Context,
  refuse: (refuse: boolean) => Promise<void>,
): Promise<FastifyInstance> {
  const app = fastify({
    // Answers that hang on purpose must not delay a close.
    forceCloseConnections: true,
    bodyLimit: BODY_LIMIT,
    routerOptions: { maxParamLength: 500 },
  });
  // A file beyond its limit is cut here and refused by the endpoint, with the service's message.
  await app.register(multipart, { throwFileSizeLimit: false });
  app.setErrorHandler((error: FastifyError, _request, reply) => {
    const status = error.statusCode ?? 500;
    const message = status === 500 ? 'Internal server error' : error.message;
    if (status === 500) context.settings.log.warn({ error: String(error) }, 'sandbox failed');
    return reply.code(status).send({ statusCode: status, message });
  });
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send({ statusCode: 404, message: `Cannot ${request.method} ${request.url.split('?')[0]}` }),
  );
  await app.register(
    (api, _options, done) => {
      addCustomerRoutes(api, context);
      addCredentialRoute(api, context);
      addIrmRoutes(api, context);
      addTemplateRoute(api, context);
      addPushRoute(api, context);
      addBulkRoute(api, context);
      addStatusRoute(api, context);
      addCertificateRoutes(api, context);
      done();
    },
    { prefix: '/api/v1' },
  );
  await app.register(
    (extraction, _options, done) => {
      addExtractionRoutes(extraction, context);
      done();
    },
    { prefix: '/platform' },
  );
  await app.register(
    (control, _options, done) => {
      addControlRoutes(control, context, refuse);
      done();
    },
    { prefix: '/__sandbox' },
  );
  return app;
}

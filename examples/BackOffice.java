import com.sun.net.httpserver.*;
import java.net.*;
import java.net.http.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.security.MessageDigest;
import java.util.*;
import java.util.regex.*;
import java.util.stream.*;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Onboards an exporter, files a message and a workbook, and follows them. Java 17 or newer, no packages: java BackOffice.java */
public class BackOffice {
  static final String EBRC = System.getenv("EBRC"), TOKEN = System.getenv("TOKEN"), SANDBOX = System.getenv("SANDBOX"), REF = System.getenv("REF"),
      EXPORTER = "accounts@kaveri.example", JSON = "application/json";
  static final Set<String> ENDS = Set.of("certified", "partly_certified", "rejected", "needs_correction", "abandoned", "awaiting_approval", "needs_credentials");
  static final HttpClient CLIENT = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  /** An answer; a problem is one too. */
  record Answer(int status, byte[] bytes) { // The first value of a field; use a JSON library where you have one.
    String field(String name) {
      Matcher found = Pattern.compile('"' + name + "\":(?:\"([^\"]*)\"|([^,}\\]]*))").matcher(new String(bytes, StandardCharsets.UTF_8));
      return !found.find() ? null : found.group(1) != null ? found.group(1) : found.group(2);
    }
    Answer done() { // A problem ends the program.
      if (status < 400) return this;
      throw new IllegalStateException(field("code") + ": " + field("detail"));
    }
  }

  /** After 429 and 503 the same request is repeated. */
  static Answer ask(String method, String address, String type, String body) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(URI.create(address)).header("Authorization", "Bearer " + TOKEN).header("Content-Type", type)
        .header("Prefer", "wait=60").method(method, body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body)).build();
    for (;;) {
      HttpResponse<byte[]> answer = CLIENT.send(request, HttpResponse.BodyHandlers.ofByteArray());
      if (answer.statusCode() != 429 && answer.statusCode() != 503) return new Answer(answer.statusCode(), answer.body());
      Thread.sleep(1000 * Long.parseLong(answer.headers().firstValue("Retry-After").orElse("5")));
    }
  }

  static Answer get(String path) throws Exception { return ask("GET", EBRC + path, JSON, null); }
  static Answer post(String path, String body) throws Exception { return ask("POST", EBRC + path, JSON, body); }

  /** The state in which a filing ends, or needs somebody. */
  static String ended(String reference) throws Exception {
    Answer filing = get("/v1/filings/" + URLEncoder.encode(reference, StandardCharsets.UTF_8)).done();
    return "true".equals(filing.field("asked")) || ENDS.contains(filing.field("state")) ? filing.field("state") : ended(reference);
  }

  /** A mapping of a remittance to an invoice. Its fields of the IRM have the same names. */
  static Map<String, Object> row(Answer irm, int serial, String document) {
    Map<String, Object> row = new LinkedHashMap<>(Map.of("serialNo", serial, "uploadType", 103, "branchSlNo", 0, "portCode", "INBLR4"));
    for (String name : "irmIfscCode irmAdCode irmNumber irmDt irmFCC irmPurposeCode".split(" ")) row.put(name, irm.field(name));
    row.putAll(Map.of("irmRemitAmtFCC", Double.valueOf(irm.field("irmRemitAmtFCC")), "sbCumInvoiceNumber", document, "sbCumInvoiceDate", "2026-05-15",
        "billNo", document, "sbCumInvoiceFCC", irm.field("irmFCC"), "sbCumInvoiceValueinFCC", 10, "mappedIRMAmountFCC", 10, "isVostro", "N", "isGstAvail", "N"));
    for (String name : List.of("gstinInvoiceNumber", "gstinInvoiceDate")) row.put(name, null);
    return row;
  }

  static String message(List<Map<String, Object>> rows) {
    String items = rows.stream().map(row -> row.entrySet().stream().map(cell -> '"' + cell.getKey() + "\":"
        + (cell.getValue() instanceof String text ? '"' + text + '"' : cell.getValue())).collect(Collectors.joining(",", "{", "}"))).collect(Collectors.joining(","));
    return "{\"recordResCount\":%d,\"uploadType\":\"103\",\"decalarationFlag\":\"Y\",\"ebrcBulkGenDtos\":[%s]}".formatted(rows.size(), items);
  }
  static String filing(String reference, String message) { return "{\"exporter\":\"%s\",\"reference\":\"%s\",\"message\":%s}".formatted(EXPORTER, reference, message); }

  /** Whether a webhook is ours (Standard Webhooks). While a secret is rotated there are two signatures. */
  static boolean verified(String secret, Headers head, byte[] body) {
    try {
      String at = head.getFirst("webhook-timestamp");
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(Base64.getDecoder().decode(secret.substring("whsec_".length())), "HmacSHA256"));
      mac.update((head.getFirst("webhook-id") + "." + at + ".").getBytes(StandardCharsets.UTF_8));
      byte[] own = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes();
      return Math.abs(System.currentTimeMillis() / 1000 - Long.parseLong(at)) < 300
          && Stream.of(head.getFirst("webhook-signature").split(" ")).anyMatch(given -> MessageDigest.isEqual(own, given.getBytes()));
    } catch (Exception malformed) { return false; }
  }

  public static void main(String[] args) throws Exception {
    // 1. Onboard, with the password of the portal; it goes to a vault.
    post("/v1/exporters", "{\"name\":\"Kaveri Softworks\",\"email\":\"" + EXPORTER + "\",\"iec\":\"AAKCK7719P\",\"username\":\"kaveri.softworks\",\"password\":\"Kaveri@Soft9\"}").done();
    for (String state = ""; !"ready".equals(state); Thread.sleep(1000)) System.out.println("exporter " + (state = get("/v1/exporters/" + EXPORTER).done().field("state")));
    String irms = new String(get("/v1/exporters/" + EXPORTER + "/irms?free=true").bytes(), StandardCharsets.UTF_8);
    Answer irm = new Answer(200, Stream.of(irms.split("(?=\\{\"irmNumber\")")).filter(each -> each.contains("\"irmFCC\":\"USD\"")).findFirst().get().getBytes());
    // 2. File two rows. The sandbox is told to reject one of them, once.
    if (SANDBOX != null) ask("POST", SANDBOX + "/outcomes", JSON, "{\"match\":{\"document\":\"" + REF + "-B\"},\"processingStatus\":\"Errored\",\"errorDetails\":[\"ERR36: Declaration flag\"],\"times\":1}");
    String both = message(List.of(row(irm, 1, REF + "-A"), row(irm, 2, REF + "-B")));
    System.out.println("filed " + post("/v1/filings", filing(REF, both)).done().status() + "\nended " + ended(REF));
    String at = "/v1/filings/" + URLEncoder.encode(REF, StandardCharsets.UTF_8);
    Answer rows = get(at + "/rows");
    String number = rows.field("eBRCNumber");
    System.out.println("certified " + number + " rejected " + new String(rows.bytes()).replaceAll("(?s).*(ERR\\d+[^\"]*).*", "$1"));
    Answer pdf = get("/v1/certificates/" + number + "/pdf");
    for (; pdf.status() != 200; pdf = get("/v1/certificates/" + number + "/pdf")) Thread.sleep(1000);
    System.out.println("saved " + Files.write(Path.of(REF + ".pdf"), pdf.bytes()));
    // 3. Correct the rejected row: it alone, with its serial number, under the same reference.
    System.out.println("corrected " + post(at + "/correct", "{\"message\":" + message(List.of(row(irm, 2, REF + "-B"))) + "}").status() + " " + ended(REF));
    // 4. What a reference and a mapping are protected from.
    Answer taken = post("/v1/filings", filing(REF, message(List.of(row(irm, 1, REF + "-C"))))), held = post("/v1/filings", filing(REF + "-2", both));
    System.out.println(taken.field("code") + " " + held.field("code"));
    // 5. A workbook: a form with a file. A .csv with the names of the message's fields is one too.
    Map<String, Object> cells = row(irm, 1, REF + "-D");
    String csv = String.join(",", cells.keySet()) + "\r\n" + cells.values().stream().map(cell -> Objects.toString(cell, "")).collect(Collectors.joining(","));
    String part = "--mark\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n";
    String form = part.formatted("exporter", EXPORTER) + part.formatted("reference", REF + "-W") + part.formatted("declaration", "Y")
        + part.formatted("file\"; filename=\"july.csv", csv) + "--mark--\r\n";
    System.out.println("workbook " + ask("POST", EBRC + "/v1/filings", "multipart/form-data; boundary=mark", form).done().status() + " " + ended(REF + "-W"));
    // 6. Be told. The workers have to be allowed to reach this machine: EBRC_WEBHOOK_HOSTS=127.0.0.1
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    Answer hook = post("/v1/webhooks", "{\"url\":\"http://127.0.0.1:" + server.getAddress().getPort() + "/\"}").done();
    server.createContext("/", call -> call.sendResponseHeaders(verified(hook.field("secret"), call.getRequestHeaders(), call.getRequestBody().readAllBytes()) ? 204 : 401, -1));
    server.start();
    System.out.println("webhook " + post("/v1/webhooks/" + hook.field("webhookId") + "/test", "{}").field("state"));
    ask("DELETE", EBRC + "/v1/webhooks/" + hook.field("webhookId"), JSON, null);
    server.stop(0);
  }
}

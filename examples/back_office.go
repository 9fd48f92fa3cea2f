// Onboards an exporter, files a message and a workbook, and follows them. Go 1.21 or newer: go run back_office.go
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"time"
)

type object = map[string]any

var ebrc, token, sandbox, ref, exporter = os.Getenv("EBRC"), os.Getenv("TOKEN"), os.Getenv("SANDBOX"), os.Getenv("REF"), "accounts@kaveri.example"
var ends = " certified partly_certified rejected needs_correction abandoned awaiting_approval needs_credentials "

func try[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// ask answers a body with its status; a problem is an answer too. After 429 and 503 the same request is repeated. A text is a form.
func ask(method, path string, body any) object {
	kind, sent := "application/json", strings.TrimPrefix(string(try(json.Marshal(body))), "null")
	if form, isForm := body.(string); isForm {
		kind, sent = "multipart/form-data; boundary=mark", form
	}
	request := try(http.NewRequest(method, try(url.Parse(ebrc)).ResolveReference(try(url.Parse(path))).String(), strings.NewReader(sent)))
	request.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {kind}, "Prefer": {"wait=60"}}
	answer := try(http.DefaultClient.Do(request))
	read := object{"content": try(io.ReadAll(answer.Body))}
	if answer.StatusCode == 429 || answer.StatusCode == 503 {
		time.Sleep(5 * time.Second) // Retry-After says how long at least.
		return ask(method, path, body)
	}
	_ = json.Unmarshal(read["content"].([]byte), &read) // A PDF is none.
	read["status"] = answer.StatusCode
	return read
}

// done passes an answer on; a problem ends the program.
func done(answer object) object {
	return try(answer, map[bool]error{true: fmt.Errorf("%v: %v", answer["code"], answer["detail"])}[answer["status"].(int) >= 400])
}

// ended waits until a filing ends, or needs somebody.
func ended(reference string) any {
	if filing := done(ask("GET", "/v1/filings/"+url.PathEscape(reference), nil)); filing["asked"] == true || strings.Contains(ends, fmt.Sprintf(" %v ", filing["state"])) {
		return filing["state"]
	}
	return ended(reference)
}

// row maps a remittance to an invoice. The fields of the IRM have the same names.
func row(irm object, serial int, document string) object {
	return object{"irmIfscCode": irm["irmIfscCode"], "irmAdCode": irm["irmAdCode"], "irmNumber": irm["irmNumber"], "irmDt": irm["irmDt"], "irmFCC": irm["irmFCC"], "irmPurposeCode": irm["irmPurposeCode"],
		"irmRemitAmtFCC": json.Number(irm["irmRemitAmtFCC"].(string)), "serialNo": serial, "uploadType": 103, "branchSlNo": 0, "sbCumInvoiceNumber": document,
		"sbCumInvoiceDate": "2026-05-15", "portCode": "INBLR4", "billNo": document, "sbCumInvoiceFCC": irm["irmFCC"], "sbCumInvoiceValueinFCC": 10, "mappedIRMAmountFCC": 10, "isVostro": "N", "isGstAvail": "N"}
}

func filing(reference string, rows ...object) object {
	return object{"exporter": exporter, "reference": reference, "message": object{"recordResCount": len(rows), "uploadType": "103", "decalarationFlag": "Y", "ebrcBulkGenDtos": rows}}
}

// verified says whether a webhook is ours (Standard Webhooks). While a secret is rotated there are two signatures.
func verified(secret string, head http.Header, body []byte) (ours bool) {
	mac := hmac.New(sha256.New, try(base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))))
	fmt.Fprintf(mac, "%s.%s.%s", head.Get("Webhook-Id"), head.Get("Webhook-Timestamp"), body)
	for _, given := range strings.Fields(head.Get("Webhook-Signature")) {
		ours = ours || hmac.Equal([]byte("v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil))), []byte(given))
	}
	sent, _ := time.ParseDuration(head.Get("Webhook-Timestamp") + "s") // Since 1970.
	return ours && time.Since(time.Unix(0, 0).Add(sent)).Abs() < 5*time.Minute
}

func main() { // 1. Onboard, with the password of the portal; it goes to a vault.
	for state := done(ask("POST", "/v1/exporters", object{"name": "Kaveri Softworks", "email": exporter, "iec": "AAKCK7719P", "username": "kaveri.softworks", "password": "Kaveri@Soft9"}))["state"]; state != "ready"; time.Sleep(time.Second) {
		state = done(ask("GET", "/v1/exporters/"+exporter, nil))["state"]
		fmt.Println("exporter", state)
	}
	irm := done(ask("GET", "/v1/exporters/"+exporter+"/irms?free=true", nil))["items"].([]any)[0].(object)
	// 2. File two rows. The sandbox is told to reject one of them, once.
	ask("POST", sandbox+"/outcomes", object{"match": object{"document": ref + "-B"}, "processingStatus": "Errored", "errorDetails": []string{"ERR36: Declaration flag"}, "times": 1})
	both, at := filing(ref, row(irm, 1, ref+"-A"), row(irm, 2, ref+"-B")), "/v1/filings/"+url.PathEscape(ref)
	fmt.Println("filed", done(ask("POST", "/v1/filings", both))["status"], "\nended", ended(ref))
	rows, pdf := done(ask("GET", at+"/rows", nil))["items"].([]any), object{}
	fmt.Println("certified", rows[0].(object)["eBRCNumber"], "rejected", rows[1].(object)["errors"])
	for ; pdf["status"] != 200; time.Sleep(time.Second) {
		pdf = ask("GET", fmt.Sprintf("/v1/certificates/%v/pdf", rows[0].(object)["eBRCNumber"]), nil)
	}
	fmt.Println("saved", ref+".pdf", os.WriteFile(ref+".pdf", pdf["content"].([]byte), 0o600) == nil)
	// 3. Correct the rejected row: it alone, with its serial number, under the same reference.
	fmt.Println("corrected", ask("POST", at+"/correct", object{"message": filing(ref, row(irm, 2, ref+"-B"))["message"]})["status"], ended(ref))
	// 4. What a reference and a mapping are protected from.
	fmt.Println(ask("POST", "/v1/filings", filing(ref, row(irm, 1, ref+"-C")))["code"], ask("POST", "/v1/filings", filing(ref+"-2", row(irm, 1, ref+"-A"), row(irm, 2, ref+"-B")))["code"])
	// 5. A workbook: a form with a file. A .csv with the names of the message's fields is one too.
	head, line, part := "gstinInvoiceNumber,gstinInvoiceDate", ",", "--mark\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n"
	for name, value := range row(irm, 1, ref+"-D") {
		head, line = name+","+head, fmt.Sprint(value)+","+line
	}
	form := fmt.Sprintf(strings.Repeat(part, 4)+"--mark--\r\n", "exporter", exporter, "reference", ref+"-W", "declaration", "Y", `file"; filename="july.csv`, head+"\r\n"+line)
	fmt.Println("workbook", done(ask("POST", "/v1/filings", form))["status"], ended(ref+"-W"))
	var hook object // 6. Be told. The workers have to be allowed to reach this machine: EBRC_WEBHOOK_HOSTS=127.0.0.1
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		answer.WriteHeader(map[bool]int{true: 204, false: 401}[verified(hook["secret"].(string), request.Header, try(io.ReadAll(request.Body)))])
	}))
	hook = done(ask("POST", "/v1/webhooks", object{"url": server.URL}))
	at = "/v1/webhooks/" + hook["webhookId"].(string)
	fmt.Println("webhook", ask("POST", at+"/test", object{})["state"])
	ask("DELETE", at, nil)
}

// Onboards an exporter, files a message and a workbook, and follows them. Go 1.21 or newer: go run back_office.go
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

type object = map[string]any

var ebrc, token, sandbox, ref = os.Getenv("EBRC"), os.Getenv("TOKEN"), os.Getenv("SANDBOX"), os.Getenv("REF")

const ends = "certified partly_certified rejected needs_correction abandoned awaiting_approval needs_credentials"

func try[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// ask answers status and body; a problem is an answer too. After 429 and 503 the same request is repeated.
func ask(method, address, kind string, body []byte) (int, object, []byte) {
	for {
		request := try(http.NewRequest(method, address, bytes.NewReader(body)))
		request.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {kind}, "Prefer": {"wait=60"}}
		answer, read := try(http.DefaultClient.Do(request)), object{}
		content := try(io.ReadAll(answer.Body))
		if answer.StatusCode != 429 && answer.StatusCode != 503 {
			_ = json.Unmarshal(content, &read) // A PDF is none.
			return answer.StatusCode, read, content
		}
		time.Sleep(5 * time.Second) // Retry-After says how long at least.
	}
}

func get(path string) object {
	_, body, _ := ask("GET", ebrc+path, "", nil)
	return body
}

func post(address string, body any) (int, object) {
	status, answer, _ := ask("POST", address, "application/json", try(json.Marshal(body)))
	return status, answer
}

// ended waits until a filing ends, or needs somebody.
func ended(reference string) any {
	filing := get("/v1/filings/" + url.PathEscape(reference))
	if filing["asked"] == true || strings.Contains(" "+ends+" ", fmt.Sprintf(" %v ", filing["state"])) {
		return filing["state"]
	}
	return ended(reference)
}

// row maps a remittance to an invoice. The fields of the IRM have the same names.
func row(irm object, serial int, document string) object {
	mapping := object{"serialNo": serial, "uploadType": 103, "branchSlNo": 0, "sbCumInvoiceNumber": document, "sbCumInvoiceDate": "2026-05-15",
		"irmRemitAmtFCC": json.Number(irm["irmRemitAmtFCC"].(string)), "portCode": "INBLR4", "billNo": document, "sbCumInvoiceFCC": irm["irmFCC"],
		"sbCumInvoiceValueinFCC": 10, "mappedIRMAmountFCC": 10, "isVostro": "N", "isGstAvail": "N"}
	for _, name := range strings.Fields("irmIfscCode irmAdCode irmNumber irmDt irmFCC irmPurposeCode") {
		mapping[name] = irm[name]
	}
	return mapping
}

func filing(reference string, rows ...object) object {
	message := object{"recordResCount": len(rows), "uploadType": "103", "decalarationFlag": "Y", "ebrcBulkGenDtos": rows}
	return object{"exporter": "accounts@kaveri.example", "reference": reference, "message": message}
}

// verified says whether a webhook is ours (Standard Webhooks). While a secret is rotated there are two signatures.
func verified(secret string, head http.Header, body []byte) (ours bool) {
	at, _ := strconv.ParseInt(head.Get("Webhook-Timestamp"), 10, 64)
	mac := hmac.New(sha256.New, try(base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))))
	fmt.Fprintf(mac, "%s.%d.%s", head.Get("Webhook-Id"), at, body)
	for _, given := range strings.Fields(head.Get("Webhook-Signature")) {
		ours = ours || hmac.Equal([]byte("v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil))), []byte(given))
	}
	return ours && time.Since(time.Unix(at, 0)).Abs() < 5*time.Minute
}

func main() { // 1. Onboard, with the password of the portal; it goes to a vault.
	one, login := "/v1/exporters/accounts@kaveri.example", object{"username": "kaveri.softworks", "password": "Kaveri@Soft9"}
	login["name"], login["email"], login["iec"] = "Kaveri Softworks", "accounts@kaveri.example", "AAKCK7719P"
	for post(ebrc+"/v1/exporters", login); get(one)["state"] != "ready"; time.Sleep(time.Second) {
	}
	irm := get(one + "/irms?free=true")["items"].([]any)[0].(object)
	// 2. File two rows. The sandbox is told to reject one of them, once.
	post(sandbox+"/outcomes", object{"match": object{"document": ref + "-B"}, "processingStatus": "Errored", "errorDetails": []string{"ERR36: Declaration flag"}, "times": 1})
	status, _ := post(ebrc+"/v1/filings", filing(ref, row(irm, 1, ref+"-A"), row(irm, 2, ref+"-B")))
	fmt.Println("filed", status, "\nended", ended(ref))
	rows := get("/v1/filings/" + ref + "/rows")["items"].([]any)
	number := rows[0].(object)["eBRCNumber"]
	fmt.Println("certified", number, "rejected", rows[1].(object)["errors"])
	pdf := []byte{}
	for status = 0; status != 200; time.Sleep(time.Second) {
		status, _, pdf = ask("GET", fmt.Sprintf("%s/v1/certificates/%v/pdf", ebrc, number), "", nil)
	}
	fmt.Println("saved", ref+".pdf", os.WriteFile(ref+".pdf", pdf, 0o600) == nil)
	// 3. Correct the rejected row: it alone, with its serial number, under the same reference.
	status, _ = post(ebrc+"/v1/filings/"+ref+"/correct", object{"message": filing(ref, row(irm, 2, ref+"-B"))["message"]})
	fmt.Println("corrected", status, ended(ref))
	// 4. What a reference and a mapping are protected from.
	_, taken := post(ebrc+"/v1/filings", filing(ref, row(irm, 1, ref+"-C")))
	_, held := post(ebrc+"/v1/filings", filing(ref+"-2", row(irm, 1, ref+"-A"), row(irm, 2, ref+"-B")))
	fmt.Println(taken["code"], held["code"])
	// 5. A workbook: a form with a file. A .csv with the names of the message's fields is one too.
	head, line, form, part := "gstinInvoiceNumber,gstinInvoiceDate", ",", "", "--mark\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%v\r\n"
	for name, value := range row(irm, 1, ref+"-D") {
		head, line = name+","+head, fmt.Sprint(value)+","+line
	}
	fields := object{"exporter": login["email"], "reference": ref + "-W", "declaration": "Y", `file"; filename="july.csv`: head + "\r\n" + line}
	for name, value := range fields {
		form += fmt.Sprintf(part, name, value)
	}
	status, _, _ = ask("POST", ebrc+"/v1/filings", "multipart/form-data; boundary=mark", []byte(form+"--mark--\r\n"))
	fmt.Println("workbook", status, ended(ref+"-W"))
	// 6. Be told. The workers have to be allowed to reach this machine: EBRC_WEBHOOK_HOSTS=127.0.0.1
	listener := try(net.Listen("tcp", "127.0.0.1:0"))
	_, hook := post(ebrc+"/v1/webhooks", object{"url": "http://" + listener.Addr().String() + "/"})
	go http.Serve(listener, http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		ours := verified(hook["secret"].(string), request.Header, try(io.ReadAll(request.Body)))
		answer.WriteHeader(map[bool]int{true: 204, false: 401}[ours])
	}))
	own := fmt.Sprintf("%s/v1/webhooks/%v", ebrc, hook["webhookId"])
	_, tested := post(own+"/test", object{})
	fmt.Println("webhook", tested["state"])
	ask("DELETE", own, "", nil)
}
